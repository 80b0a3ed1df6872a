import t from 'tap';
import { backend } from '../helper/database.ts';
import { authors, foldAll, openSessions, type Session, wrongLists } from './sessions.ts';

// The embedded database has one session.
const test = backend === 'postgres' ? t.test.bind(t) : t.skip.bind(t);
const tables = ['users', 'posts'];

let made = 0;
/** Inserts posts after all others, as the service does. */
function insertPosts(amount = 1): string {
  made += amount;
  return `insert into posts (id, title, status, author_id, created_at, updated_at)
    select ('0199aaaa-bbbb-7000-8000-' || lpad(to_hex(${made} - n), 12, '0'))::uuid, 'x', 'draft', '${authors[0]}', now(), now()
    from generate_series(0, ${amount - 1}) as n`;
}
const fold = 'select list_fold(5000, 1) as moved';
const waiting = `select count(*)::int as waiting from list_pending('posts', '')`;

/** A session that fails instead of waiting for a lock. */
async function impatient(session: () => Session): Promise<Session> {
  const made = session();
  await made.run(`set lock_timeout = '1ms'`);
  return made;
}

test('no writer waits for a session that holds the lock of a fold (a bulk write stopped a server)', async t => {
  const session = await openSessions(t);
  const [stuck, writer] = [session(), await impatient(session)];
  await stuck.run('begin');
  await stuck.run('select pg_advisory_xact_lock(7283452)');
  for (let i = 0; i < 3; i++) await writer.run(insertPosts(1000));
  t.same(await writer.run(fold), [{ moved: 0 }], 'another fold does not wait either');
  t.same(await wrongLists(writer, tables), []);
  await stuck.run('rollback');
  await foldAll(writer);
  t.same(await wrongLists(writer, tables), []);
});

test('no writer waits for a fold that is stuck in the middle', async t => {
  const session = await openSessions(t);
  const [stuck, writer] = [session(), await impatient(session)];
  await writer.run(insertPosts(100));
  await stuck.run('begin');
  t.same(await stuck.run(fold), [{ moved: 104 }]);
  for (let i = 0; i < 3; i++) {
    await writer.run(insertPosts(10));
    await writer.run(`delete from posts where id = (select max(id::text)::uuid from posts)`);
    t.same(await writer.run(fold), [{ moved: 0 }]);
  }
  t.same(await wrongLists(writer, tables), []);
  await stuck.run('commit');
  t.same(await wrongLists(writer, tables), []);
  await foldAll(writer);
  t.same(await wrongLists(writer, tables), []);
});

test('a fold does not wait for a writer, and closes no segment that one still writes to', async t => {
  const session = await openSessions(t);
  const [writer, folder] = [session(), await impatient(session)];
  await writer.run('begin');
  await writer.run(insertPosts());
  for (let i = 0; i < 3; i++) {
    await folder.run(insertPosts());
    await foldAll(folder);
    t.same(await folder.run(waiting), [{ waiting: 0 }]);
    await writer.run(insertPosts());
    t.same(await wrongLists(writer, tables), [], 'as the writer sees it');
  }
  t.same(await writer.run(fold), [{ moved: 0 }], 'a transaction that has written cannot fold');
  await writer.run('commit');
  t.same(await folder.run(waiting), [{ waiting: 4 }]);
  t.same(await wrongLists(folder, tables), []);
  await foldAll(folder);
  t.same(await wrongLists(folder, tables), []);
});

test('a rolled back savepoint gives its segment back', async t => {
  const session = await openSessions(t);
  const [writer, folder] = [session(), session()];
  await writer.run('begin');
  await writer.run('savepoint here');
  await writer.run(insertPosts());
  await writer.run('rollback to here');
  await folder.run(insertPosts());
  await foldAll(folder);
  await writer.run(insertPosts());
  await writer.run('commit');
  t.same(await wrongLists(folder, tables), []);
});

test('a prepared transaction keeps its segment open', async t => {
  const session = await openSessions(t);
  const [writer, folder] = [session(), session()];
  await writer.run('begin');
  await writer.run(insertPosts());
  await writer.run(`prepare transaction 'kept'`);
  for (let i = 0; i < 2; i++) {
    await folder.run(insertPosts());
    await foldAll(folder);
  }
  await folder.run(`commit prepared 'kept'`);
  t.same(await wrongLists(folder, tables), []);
});

test('a writer that is held up before it has its lock takes another segment', async t => {
  const session = await openSessions(t);
  const [gate, writer, folder] = [session(), session(), session()];
  // In the path of the writer, this function comes before that of the catalog.
  await gate.run('create schema slow');
  await gate.run(`create function slow.pg_try_advisory_xact_lock_shared(a int, b int) returns boolean language plpgsql as $$
    begin
      perform pg_advisory_xact_lock_shared(1);
      return pg_catalog.pg_try_advisory_xact_lock_shared(a, b);
    end $$`);
  await writer.run('set search_path = slow, pg_catalog, public');
  await gate.run('begin');
  await gate.run('select pg_advisory_xact_lock(1)');
  const written = writer.run(insertPosts());
  const held = `select from pg_locks where locktype = 'advisory' and not granted and database = (select oid from pg_database where datname = current_database())`;
  while ((await folder.run(held)).length === 0);
  await folder.run(insertPosts());
  await foldAll(folder);
  await gate.run('commit');
  await written;
  t.same(await wrongLists(folder, tables), []);
});

test('while a transaction stays open and others write, a list costs less than count(*)', async t => {
  const session = await openSessions(t);
  const [open, writer] = [session(), session()];
  await writer.run(insertPosts(20_000));
  await foldAll(writer);
  await writer.run('vacuum analyze');
  await open.run('begin isolation level repeatable read');
  await open.run(insertPosts());
  for (let i = 0; i < 60; i++) {
    await writer.run(insertPosts(100));
    await foldAll(writer);
  }
  const pagesOf = async (query: string) => {
    const [row] = await writer.run(`explain (analyze, buffers, format json) ${query}`);
    const plan = (row?.['QUERY PLAN'] as { Plan: Record<string, number> }[] | undefined)?.[0]?.Plan;
    return Number(plan?.['Shared Hit Blocks']) + Number(plan?.['Shared Read Blocks']);
  };
  const place = (skip: number) => `select * from list_place('posts', '', ${skip}, false)`;
  await writer.run(place(15_000));
  const [first, deep, all] = [
    await pagesOf(place(0)),
    await pagesOf(place(15_000)),
    await pagesOf('select count(*) from posts'),
  ];
  t.ok(2 * first < all && deep < all, `${first} and ${deep} pages, where count(*) reads ${all}`);
  t.same(await wrongLists(open, tables), []);
  t.same(await wrongLists(writer, tables), []);
  await open.run('commit');
  t.same(await wrongLists(writer, tables), []);
});

test('truncate is refused with the reason under every isolation level', async t => {
  const { run } = (await openSessions(t))();
  for (const level of ['read committed', 'repeatable read', 'serializable']) {
    await run(`begin isolation level ${level}`);
    await t.rejects(run('truncate users, posts cascade'), {
      message: /truncate \w+ would leave wrong totals: use delete/,
    });
    await run('rollback');
  }
});

test('a copy without the value of the sequence goes on counting', async t => {
  const session = (await openSessions(t))();
  const { run } = session;
  for (let i = 0; i < 3; i++) {
    await run(insertPosts());
    await foldAll(session);
  }
  await run(insertPosts());
  await run(`select setval('list_segments', 1)`);
  await run(insertPosts());
  for (let i = 0; i < 5; i++) {
    await foldAll(session);
    t.same(await wrongLists(session, tables), []);
    await run(insertPosts());
  }
});

test('a fold under another isolation level is refused', async t => {
  const { run } = (await openSessions(t))();
  await run('begin isolation level repeatable read');
  await t.rejects(run(fold), { message: 'list_fold needs read committed' });
});
