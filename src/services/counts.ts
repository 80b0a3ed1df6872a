import { sql } from '../../drizzle/orm.ts';
import { posts, users } from '../../drizzle/tables.ts';
import { need } from '../access/need.ts';
import type { Context } from '../core/context.ts';
import { totalOf } from '../database/statements/pageQuery.ts';
import { statement } from '../database/statements/statement.ts';

const totals = statement({ users: totalOf(users), posts: totalOf(posts) }, (builder, columns) =>
  builder.select(columns).from(sql`(select) as nothing`),
);

/** How many records there are. */
export async function countRecords(context: Context): Promise<{ users: number; posts: number }> {
  need(context, 'read');
  const [counts] = await totals(context.db);
  return counts ?? { users: 0, posts: 0 };
}
