import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import postgres from 'postgres';
import type { Test } from 'tap';
import { backend, createPostgres, openTestDatabase } from '../helper/database.ts';
import { any, below, random } from '../helper/values/random.ts';

/** One session of a database. The embedded database has one. */
export interface Session {
  run: (text: string) => Promise<Record<string, unknown>[]>;
}

/** An id of an earlier time, among the others, or of now, after all others. */
function anyId(): string {
  const time = (below(3) ? Date.UTC(2025, 0, 1) + below(1e9) : Date.now()).toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7${randomUUID().slice(15)}`;
}
export const authors = Array.from({ length: 4 }, anyId);

/** Makes sessions of a fresh database with four authors and a table of notes, which are deleted with their post. */
export async function openSessions(t: Test): Promise<() => Session> {
  const session = backend === 'postgres' ? sessionsOf(t, await createPostgres(t)) : await embeddedSession(t);
  const { run } = session();
  await run(`insert into users (id, name, email, created_at, updated_at)
    select id, 'author', id || '@example.com', now(), now() from unnest('{${authors}}'::uuid[]) as id`);
  await run(
    'create table notes (id uuid primary key, post_id uuid references posts on delete cascade, kind text)',
  );
  await run('create index notes_post_index on notes (post_id, id)');
  return session;
}

function sessionsOf(t: Test, url: string): () => Session {
  return () => {
    const sql = postgres(url, { max: 1, onnotice: () => {} });
    t.teardown(() => sql.end({ timeout: 1 }));
    // Sent at once: the driver waits until somebody asks for the result.
    return { run: async text => sql.unsafe(text) };
  };
}

async function embeddedSession(t: Test): Promise<() => Session> {
  const { embedded } = await openTestDatabase(t);
  if (!embedded) throw new Error('There is no embedded database.');
  return () => ({ run: async text => (await embedded.query<Record<string, unknown>>(text)).rows });
}

/** Folds all changes that are committed. */
export async function foldAll({ run }: Session): Promise<void> {
  for (let moved = 1; moved > 0; )
    [{ moved } = { moved: 0 }] = (await run('select list_fold(5000) as moved')) as { moved: number }[];
}

const lists = ['users', 'posts', 'posts.status=draft', 'posts.status=published', 'notes', 'notes.kind=a'];

/** Lists whose total or page is not that of count(*) and OFFSET, which are read in the same snapshot. */
export async function wrongLists({ run }: Session, tables = ['users', 'posts', 'notes']): Promise<object[]> {
  const wrong: object[] = [];
  for (const list of lists.filter(list => tables.some(table => list.startsWith(table))))
    for (const backward of [false, true])
      for (const share of [0, random() * 1.05, random(), random()]) {
        const [row] = await run(comparison(list, backward, share));
        if (row && !row.right) wrong.push({ list, backward, ...row });
      }
  return wrong;
}

function comparison(list: string, backward: boolean, share: number): string {
  const [table, column, value] = list.split(/[.=]/);
  const ids = `select id from ${table} where ${column ? `${column} = '${value}'` : 'true'}`;
  const order = backward ? 'desc' : 'asc';
  return `select *, total = counted and remaining >= 0 and expected is not distinct from found as right from (
    select truth.total, start.total as counted, skip, bound, remaining,
      (select array_agg(id) from (${ids} order by id ${order} offset skip limit 3) as page) as expected,
      (select array_agg(id) from (${ids} and id ${backward ? '<' : '>='} start.bound order by id ${order}
        offset start.remaining limit 3) as page) as found
    from (select count(*) as total, floor(count(*) * ${share})::bigint as skip from (${ids}) as each_row) as truth,
      list_position('${list}', truth.skip, ${backward}) as start) as compared`;
}

const insertPosts = (amount: number) => `
  insert into posts (id, title, status, author_id, created_at, updated_at)
  select id, 'x', case when random() < 0.3 then 'draft' else 'published' end, '${any(authors)}', now(), now()
  from unnest('{${Array.from({ length: amount }, anyId)}}'::uuid[]) as id`;
const some = (table: string, amount: number) =>
  `(select id from ${table} where id >= '${anyId()}' order by id limit ${amount})`;

/** Every way to write: one row and many, changes that move a row to another part, cascades. */
const writes: (({ run }: Session) => Promise<unknown>)[] = [
  ({ run }) => run(insertPosts(1)),
  ({ run }) => run(insertPosts(1 + below(40))),
  ({ run }) => run(insertPosts(any([1, 1200]))),
  ({ run }) => run(`delete from posts where id in ${some('posts', 1 + below(300))}`),
  ({ run }) =>
    run(
      `update posts set status = case status when 'draft' then 'published' else 'draft' end where id in ${some('posts', 50)}`,
    ),
  ({ run }) => run(`update posts set author_id = '${any(authors)}' where id in ${some('posts', 50)}`),
  ({ run }) => run(`update posts set title = 'y' where id in ${some('posts', 50)}`),
  ({ run }) =>
    run(
      `update posts set id = '${anyId()}' where id in ${some('posts', 1)} and not exists (select from notes where post_id = posts.id)`,
    ),
  ({ run }) => run('insert into posts select * from posts limit 1'),
  ({ run }) =>
    run(
      `insert into users (id, name, email, created_at, updated_at) values ('${anyId()}', 'u', '${anyId()}@example.com', now(), now())`,
    ),
  ({ run }) => run(`delete from users where name = 'u' and id in ${some('users', 30)}`),
  ({ run }) =>
    run(
      `insert into notes select gen_random_uuid(), id, case when random() < 0.9 then 'a' end from posts where id in ${some('posts', 200)}`,
    ),
  ({ run }) =>
    run(`merge into notes using ${some('notes', 20)} as old on old.id = notes.id when matched and kind is null then delete
    when matched then update set kind = null`),
];

/** A random transaction with savepoints. Some statements fail, and some of what is written is rolled back. */
export async function writeOnce(
  session: Session,
  { isolations, endings }: { isolations: string[]; endings: string[] },
): Promise<void> {
  const { run } = session;
  const isolation = any(isolations);
  await run(`begin isolation level ${isolation}`);
  try {
    if (below(4) === 0) await run('set constraints all immediate');
    for (let left = 1 + below(3); left > 0; left--) {
      await run('savepoint here');
      const failed = await any(writes)(session).then(
        () => below(6) === 0,
        () => true,
      );
      if (failed) await run('rollback to here');
      if (below(3) === 0) await run('release here');
      if (below(8) === 0) await sleep(below(400));
    }
    await end(run, any(endings));
  } catch {
    // A lost race under serializable; the transaction has ended or is ended here.
    await run('rollback').catch(() => {});
  }
}

async function end(run: Session['run'], ending: string): Promise<void> {
  if (ending !== 'prepare') return void (await run(ending));
  const name = randomUUID();
  await run(`prepare transaction '${name}'`);
  await sleep(below(300));
  await run(`${any(['commit', 'commit', 'rollback'])} prepared '${name}'`);
}
