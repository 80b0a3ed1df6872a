import { posts, users } from '../../drizzle/tables.ts';
import { need } from '../access/need.ts';
import type { Context } from '../core/context.ts';
import { prepared } from '../database/database.ts';
import { selectTotals } from '../database/pageQuery.ts';

const totals = prepared('totals', db => selectTotals(db, { users, posts }));

/** How many records there are. */
export async function countRecords(context: Context): Promise<{ users: number; posts: number }> {
  need(context, 'read');
  const [counts] = await totals(context.db, 'only').execute();
  return counts ?? { users: 0, posts: 0 };
}
