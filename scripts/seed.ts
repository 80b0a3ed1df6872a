import { type SQL, sql } from 'drizzle-orm';
import { type Given, loadSettings, runCommand, UsageError } from '../src/command.ts';
import { type Context, systemContext } from '../src/core/context.ts';
import { openLog } from '../src/core/log.ts';
import { type Connection, orm } from '../src/database/connection.ts';
import { openDatabase } from '../src/database/open.ts';
import { countRecords } from '../src/services/counts.ts';
import { postOf, userOf } from './seedRecords.ts';

const usage = `npm run seed -- --users 10000 --posts 200000: fills the database with made-up users and posts. Each record is made
from its number alone, so that a second run makes the same ones and adds nothing.`;

const options = {
  users: { type: 'string', default: '10000' },
  posts: { type: 'string', default: '200000' },
} as const;
const ranges = { users: [1, 1_000_000], posts: [0, 5_000_000] } as const;
const batch = 1000;

// One parameter holds a whole batch: a thousand rows cost one round trip and no long list of placeholders.
const insertUsers = (rows: object[]) => sql`
  insert into users (id, name, email, created_at, updated_at)
  select id, name, email, "createdAt", "updatedAt"
  from json_to_recordset(${JSON.stringify(rows)}::text::json)
    as new (id uuid, name text, email text, "createdAt" timestamptz, "updatedAt" timestamptz)
  on conflict do nothing`;
// Joined with the users, because one may be missing: somebody else can have the address.
const insertPosts = (rows: object[]) => sql`
  insert into posts (id, title, status, author_id, created_at, updated_at)
  select new.id, title, status, users.id, "createdAt", "updatedAt"
  from json_to_recordset(${JSON.stringify(rows)}::text::json)
    as new (id uuid, title text, status text, "authorId" uuid, "createdAt" timestamptz, "updatedAt" timestamptz)
    join users on users.id = "authorId"
  on conflict do nothing`;

/** Makes that many users and posts, where they are not there yet, and tells how many are done. */
export async function seed(
  db: Connection,
  { users, posts }: { users: number; posts: number },
  tell: (done: number) => void,
): Promise<void> {
  let done = 0;
  const write = async (rows: object[], statement: (rows: object[]) => SQL) => {
    await orm(db).execute(statement(rows));
    done += rows.length;
    tell(done);
  };
  for (const numbers of batches(users)) await write(numbers.map(userOf), insertUsers);
  for (const numbers of batches(posts))
    await write(
      numbers.map(number => postOf(number, users)),
      insertPosts,
    );
}

function* batches(count: number): Generator<number[]> {
  for (let from = 0; from < count; from += batch)
    yield Array.from({ length: Math.min(batch, count - from) }, (_, i) => from + i);
}

/** A bar that moves on a terminal; elsewhere a line for each tenth. */
function progress(total: number, terminal: boolean): (done: number) => void {
  let told = 0;
  return done => {
    const part = done / total;
    const line = `${String(Math.floor(part * 100)).padStart(3)} %  ${done.toLocaleString('en')} of ${total.toLocaleString('en')} records`;
    if (terminal)
      process.stdout.write(`\r${'█'.repeat(part * 30).padEnd(30, '░')} ${line}${done === total ? '\n' : ''}`);
    else if (Math.floor(part * 10) > told) console.log(line);
    told = Math.floor(part * 10);
  };
}

/** How much to make, by the flags of the command. */
export const sizeOf = ({ users, posts }: { users: string; posts: string }) => ({
  users: amount('users', users),
  posts: amount('posts', posts),
});

function amount(name: keyof typeof ranges, given: string): number {
  const [least, most] = ranges[name];
  const value = /^\d+$/.test(given) ? Number(given) : Number.NaN;
  if (value >= least && value <= most) return value;
  throw new UsageError(`--${name} must be a whole number from ${least} to ${most.toLocaleString('en')}`);
}

async function main({ values }: Given<typeof options>) {
  const size = sizeOf(values);
  const settings = loadSettings();
  const terminal = process.stdout.isTTY ?? false;
  const log = openLog({ ...settings, LOG_FORMAT: 'pretty' }, terminal);
  const database = await openDatabase(settings, log);
  try {
    await database.ready;
    await seedAndTell(systemContext({ db: database.writes, log }, 'seed', 'command'), size, terminal);
  } finally {
    await database.close();
  }
}

async function seedAndTell(
  context: Context,
  size: ReturnType<typeof sizeOf>,
  terminal: boolean,
): Promise<void> {
  const [before, started] = [await countRecords(context), Date.now()];
  await seed(context.db, size, progress(size.users + size.posts, terminal));
  const after = await countRecords(context);
  for (const name of ['users', 'posts'] as const)
    console.log(
      `${name}: ${after[name].toLocaleString('en')}, ${(after[name] - before[name]).toLocaleString('en')} of them new`,
    );
  console.log(`Done in ${((Date.now() - started) / 1000).toFixed(1)} s.`);
}

if (import.meta.main) await runCommand({ usage, options, run: main });
