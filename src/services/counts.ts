import { posts, users } from '../../drizzle/tables.ts';
import type { Context } from '../core/context.ts';
import { prepared } from '../core/database.ts';
import { selectTotals } from '../core/positions.ts';

const totals = prepared('totals', db => selectTotals(db, { users, posts }));

/** How many records there are. */
export async function countRecords({ db }: Context): Promise<{ users: number; posts: number }> {
  const [counts] = await totals(db, 'only').execute();
  return counts ?? { users: 0, posts: 0 };
}
