import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import postgres from 'postgres';
import type { Test } from 'tap';
import { backend, createPostgres, openTestDatabase } from '#test/helper/database.ts';
import { any, below, random } from '#test/helper/values/random.ts';

/** One session of a database. The embedded database has one. */
export interface Session {
  run: (text: string) => Promise<Record<string, unknown>[]>;
}

/** An id of an earlier time, which is among the others, or of now, which is after all others. */
function anyId(): string {
  const time = (below(3) ? Date.UTC(2025, 0, 1) + below(1e9) : Date.now()).toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7${randomUUID().slice(15)}`;
}
export const burrows = Array.from({ length: 4 }, anyId);

/** Makes sessions of a fresh database with four burrows and a table of notes, which are deleted with their specimen. */
export async function openSessions(t: Test): Promise<() => Session> {
  const session = backend === 'postgres' ? sessionsOf(t, await createPostgres(t)) : await embeddedSession(t);
  const { run } = session();
  await run(`insert into burrows (id, label, created_at, updated_at)
    select id, 'parent', now(), now() from unnest('{${burrows}}'::uuid[]) as id`);
  await run(
    'create table notes (id uuid primary key, specimen_id uuid references specimens on delete cascade, kind text)',
  );
  await run('create index notes_specimen_index on notes (specimen_id, id)');
  return session;
}

function sessionsOf(t: Test, url: string): () => Session {
  return () => {
    const sql = postgres(url, { max: 1, onnotice: () => {} });
    t.teardown(() => sql.end({ timeout: 1 }));
    // `async` sends the statement at once: the driver waits until somebody asks for the result.
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

export const watched = ['burrows', 'specimens'];
const lists = [...watched, 'specimens.grade=rough', 'specimens.grade=fine', 'notes', 'notes.kind=a'];

/** Lists whose total or page is not that of count(*) and OFFSET, which are read in the same snapshot. */
export async function wrongLists({ run }: Session, tables = [...watched, 'notes']): Promise<object[]> {
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

const insertSpecimens = (amount: number) => `
  insert into specimens (id, label, grade, burrow_id, created_at, updated_at)
  select id, 'x', case when random() < 0.3 then 'rough' else 'fine' end, '${any(burrows)}', now(), now()
  from unnest('{${Array.from({ length: amount }, anyId)}}'::uuid[]) as id`;
const some = (table: string, amount: number) =>
  `(select id from ${table} where id >= '${anyId()}' order by id limit ${amount})`;

/** Every way to write: one row and many, changes that move a row to another part, cascades. */
const writes: (({ run }: Session) => Promise<unknown>)[] = [
  ({ run }) => run(insertSpecimens(1)),
  ({ run }) => run(insertSpecimens(1 + below(40))),
  ({ run }) => run(insertSpecimens(any([1, 1200]))),
  ({ run }) => run(`delete from specimens where id in ${some('specimens', 1 + below(300))}`),
  ({ run }) =>
    run(
      `update specimens set grade = case grade when 'rough' then 'fine' else 'rough' end where id in ${some('specimens', 50)}`,
    ),
  ({ run }) => run(`update specimens set burrow_id = '${any(burrows)}' where id in ${some('specimens', 50)}`),
  ({ run }) => run(`update specimens set label = 'y' where id in ${some('specimens', 50)}`),
  ({ run }) =>
    run(
      `update specimens set id = '${anyId()}' where id in ${some('specimens', 1)} and not exists (select from notes where specimen_id = specimens.id)`,
    ),
  ({ run }) => run('insert into specimens select * from specimens limit 1'),
  ({ run }) =>
    run(`insert into burrows (id, label, created_at, updated_at) values ('${anyId()}', 'u', now(), now())`),
  ({ run }) => run(`delete from burrows where label = 'u' and id in ${some('burrows', 30)}`),
  ({ run }) =>
    run(
      `insert into notes select gen_random_uuid(), id, case when random() < 0.9 then 'a' end from specimens where id in ${some('specimens', 200)}`,
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
    // The session lost a race under serializable: the transaction has ended, or is ended here.
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
