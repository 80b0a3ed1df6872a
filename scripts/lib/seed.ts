import { type SQL, sql } from '../../drizzle/orm.ts';
import { UsageError } from '../../src/command.ts';
import { type Connection, orm } from '../../src/database/connection.ts';
import { postOf, userOf } from './seedRecords.ts';

interface Size {
  users: number;
  posts: number;
}
const ranges = { users: [1, 1_000_000], posts: [0, 5_000_000] } as const;
/** Records per statement. */
const perStatement = 1000;

// One parameter holds a whole batch: a thousand rows per round trip, without a list of placeholders.
const insertUsers = (rows: object[]) => sql`
  insert into users (id, name, email, created_at, updated_at)
  select id, name, email, "createdAt", "updatedAt"
  from json_to_recordset(${JSON.stringify(rows)}::text::json)
    as new (id uuid, name text, email text, "createdAt" timestamptz, "updatedAt" timestamptz)
  on conflict do nothing`;
// Joined with the users: one may be missing because another user has its address.
const insertPosts = (rows: object[]) => sql`
  insert into posts (id, title, status, author_id, created_at, updated_at)
  select new.id, title, status, users.id, "createdAt", "updatedAt"
  from json_to_recordset(${JSON.stringify(rows)}::text::json)
    as new (id uuid, title text, status text, "authorId" uuid, "createdAt" timestamptz, "updatedAt" timestamptz)
    join users on users.id = "authorId"
  on conflict do nothing`;

/** Inserts the users and posts that do not exist yet and reports progress. */
export async function seed(
  db: Connection,
  { users, posts }: Size,
  report: (done: number) => void,
): Promise<void> {
  let done = 0;
  const write = async (rows: object[], statement: (rows: object[]) => SQL) => {
    await orm(db).execute(statement(rows));
    done += rows.length;
    report(done);
  };
  for (const numbers of batches(users)) await write(numbers.map(userOf), insertUsers);
  for (const numbers of batches(posts))
    await write(
      numbers.map(number => postOf(number, users)),
      insertPosts,
    );
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

function amount(name: keyof typeof ranges, given: string): number {
  const [least, most] = ranges[name];
  const value = /^\d+$/.test(given) ? Number(given) : Number.NaN;
  if (value >= least && value <= most) return value;
  throw new UsageError(`--${name} must be a whole number from ${least} to ${most.toLocaleString('en')}`);
}
