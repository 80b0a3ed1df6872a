import { count } from 'drizzle-orm';
import { posts, users } from '../../drizzle/tables.ts';
import type { Context } from '../core/context.ts';
import { need } from './access.ts';

/** How many records there are. */
export async function countRecords(context: Context): Promise<{ users: number; posts: number }> {
  need(context, 'read');
  const { db } = context;
  const [people, texts] = await Promise.all([
    db.select({ total: count() }).from(users),
    db.select({ total: count() }).from(posts),
  ]);
  return { users: people[0]?.total ?? 0, posts: texts[0]?.total ?? 0 };
}
