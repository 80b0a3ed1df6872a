import { sql } from '../../drizzle/orm.ts';
import { posts } from '../../drizzle/tables/posts.ts';
import { users } from '../../drizzle/tables/users.ts';
import { UsageError } from '../../src/command.ts';
import type { Connection } from '../../src/database/connection.ts';
import { rowsOfTable } from '../../src/database/statements/insertRows.ts';
import { builder, rowsOf } from '../../src/database/statements/statement.ts';
import { postOf, userOf } from './seedRecords.ts';

interface Size {
  users: number;
  posts: number;
}
const ranges = { users: [1, 1_000_000], posts: [0, 5_000_000] } as const;
/** Records per statement. */
const perStatement = 1000;

const insertUsers = rowsOf(builder.insert(users).select(rowsOfTable(users)).onConflictDoNothing());
// Joined with the users: one may be missing because another user has its address.
const newPosts = sql`select new.* from (${rowsOfTable(posts)}) as new join users on users.id = "authorId"`;
const insertPosts = rowsOf(builder.insert(posts).select(newPosts).onConflictDoNothing());

/** Inserts the users and posts that do not exist yet and reports progress. */
export async function seed(db: Connection, size: Size, report: (done: number) => void): Promise<void> {
  let done = 0;
  async function insert(insertRows: typeof insertUsers, records: object[]) {
    await insertRows(db, { $rows: JSON.stringify(records) });
    done += records.length;
    report(done);
  }
  for (const numbers of batches(size.users)) await insert(insertUsers, numbers.map(userOf));
  for (const numbers of batches(size.posts)) {
    const records = numbers.map(number => postOf(number, size.users));
    await insert(insertPosts, records);
  }
}

function* batches(count: number): Generator<number[]> {
  for (let from = 0; from < count; from += perStatement)
    yield Array.from({ length: Math.min(perStatement, count - from) }, (_, i) => from + i);
}

/** The values of --users and --posts. */
export const sizeOf = ({ users, posts }: { users: string; posts: string }): Size => ({
  users: amount('users', users),
  posts: amount('posts', posts),
});

function amount(name: keyof typeof ranges, text: string): number {
  const [least, most] = ranges[name];
  const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (value >= least && value <= most) return value;
  throw new UsageError(`--${name} must be a whole number from ${least} to ${most.toLocaleString('en')}`);
}
