// runs: long
import { setTimeout as sleep } from 'node:timers/promises';
import t, { type Test } from 'tap';
import type { Report } from '#src/core/progress.ts';
import { repairCounts } from '#src/database/totals.ts';
import { openTestDatabase } from '#test/helper/database.ts';
import { any, below, seed } from '#test/helper/values/random.ts';
import { burrows, foldAll, openSessions, type Session, watched, writeOnce, wrongLists } from './sessions.ts';

const amounts = `select total.list, total.amount::int,
  (select coalesce(sum(block.amount), 0)::int from list_blocks as block where block.list = total.list) as blocks
  from list_totals as total`;
const waiting = `select count(*)::int as waiting from list_log`;
const repair = 'select list_repair(name) from list_tables';

/** Checks what holds when everything is folded. */
async function checkBlocks(t: Test, session: Session) {
  await foldAll(session);
  t.same(await session.run(waiting), [{ waiting: 0 }], 'nothing is left to fold');
  for (const { list, amount, blocks } of await session.run(amounts))
    t.equal(blocks, amount, `${list}: the blocks add up to the total`);
  const bad = 'select * from list_blocks where amount not between 1 and 8192';
  t.same(await session.run(bad), [], 'no block stays empty or too large');
  await session.run(repair);
  t.same(await wrongLists(session), [], 'a repair counts the same');
}

t.test(`totals and pages are exact during a storm of writes, TEST_SEED=${seed}`, async t => {
  const session = await openSessions(t);
  const first = session();
  await first.run(`select list_watch('notes', '{specimen_id,kind}')`);
  await storm(t, session);
  await checkBlocks(t, first);
});

/** Runs six writers, two that fold, one that rewrites tables and repairs, and two that compare, for several seconds. */
async function storm(t: Test, session: () => Session) {
  let writing = 6;
  const isolations = ['read committed', 'read committed', 'repeatable read', 'serializable'];
  const endings = ['commit', 'commit', 'commit', 'rollback', 'prepare'];
  const writers = Array.from({ length: writing }, async () => {
    const own = session();
    for (let step = 0; step < 45; step++) await writeOnce(own, { isolations, endings });
    writing--;
  });
  const folders = ['read committed', 'repeatable read'].map(async isolation => {
    const { run } = session();
    await run(`set default_transaction_isolation = '${isolation}'`);
    // A fold that does not see the one before fails instead of moving something wrong.
    for (; writing > 0; await sleep(below(50)))
      await run(`select list_fold(${any([10, 300, 3000])})`).catch(error => t.equal(error.code, '40001'));
  });
  const vacuum = (async () => {
    const { run } = session();
    await run(`set lock_timeout = '200ms'`);
    const tables = ['list_log', 'list_totals', 'list_blocks', 'specimens', 'notes'];
    const works = [...tables.map(table => `vacuum full ${table}`), repair];
    for (; writing > 0; await sleep(below(400))) await run(any(works)).catch(() => {});
  })();
  const checkers = ['read committed', 'repeatable read'].map(async isolation => {
    const own = session();
    for (; writing > 0; await sleep(50)) {
      await own.run(`begin isolation level ${isolation}`);
      t.same(await wrongLists(own), [], isolation);
      await own.run('commit');
    }
  });
  await Promise.all([...writers, ...folders, vacuum, ...checkers]);
}

t.test('totals are exact for an empty table, after a bulk load and after a repair', async t => {
  const session = (await openSessions(t))();
  const { run } = session;
  t.same(await wrongLists(session, watched), []);
  await run(specimens(12_000));
  t.same(await wrongLists(session, watched), [], 'with all changes in the log');
  t.same(await run('select list_fold(20000)'), [{ list_fold: 20_000 }], 'a fold moves a portion');
  t.same(await wrongLists(session, watched), [], 'with a portion moved, and blocks split beside the rest');
  await foldAll(session);
  t.same(await wrongLists(session, watched), [], 'with everything moved');
  await run('alter table specimens disable trigger user');
  await run(specimens(5000));
  await run('alter table specimens enable trigger user');
  await run(repair);
  t.same(await wrongLists(session, watched), [], 'after a repair');
  await run('delete from specimens');
  await foldAll(session);
  t.same(await wrongLists(session, ['specimens']), [], 'of no specimens');
  t.same(await run(`select * from list_blocks where list like 'specimens%'`), [], 'which have no blocks');
});

t.test('a table that has rows is counted when it is watched, again with other columns', async t => {
  const session = (await openSessions(t))();
  const { run } = session;
  await run(specimens(3000));
  await run(`insert into notes select gen_random_uuid(), id, 'a' from specimens`);
  const position = `select total::int from list_position('notes.kind=a', 0, false)`;
  await t.rejects(run(position), { message: 'list_watch was not asked to keep the total of notes.kind=a' });
  for (const columns of ['specimen_id', 'specimen_id,kind', 'kind']) {
    await run(`select list_watch('notes', '{${columns}}')`);
    await run(`delete from notes where id in (select id from notes limit 100)`);
    await run(`update notes set kind = null where id in (select id from notes where kind = 'a' limit 100)`);
    t.same(await wrongLists(session, columns.includes('kind') ? undefined : watched), [], columns);
    if (below(2)) await foldAll(session);
  }
  await run(`select list_watch('notes', '{}')`);
  await t.rejects(run(position), { code: 'P0001' }, 'a total that is no longer kept is refused');
  await foldAll(session);
  t.same(await run(`select list from list_totals where list like 'notes%'`), [{ list: 'notes' }]);
  t.same(await run(`select total::int from list_position('notes', 0, false)`), [{ total: 2700 }]);
});

const keptOf = (table: string) => `
  select list from list_log where list like '${table}%'
  union all select list from list_blocks where list like '${table}%'
  union all select list from list_totals where list like '${table}%'
  union all select name from list_tables where name = '${table}'`;

t.test('nothing is kept of a table that is no longer watched', async t => {
  const session = (await openSessions(t))();
  const { run } = session;
  await run(specimens(10));
  const add = `insert into notes select gen_random_uuid(), id, 'a' from specimens`;
  await run(`select list_watch('notes', '{kind}')`);
  await run(add);
  t.not((await run(keptOf('notes'))).length, 0);
  await run(`select list_unwatch('notes')`);
  await run(add);
  t.same(await run(keptOf('notes')), [], 'and its writes are not logged');
  t.same(await wrongLists(session, watched), [], 'the others go on');
  await run(`select list_watch('notes', '{kind}')`);
  t.same(await run(`select total::int from list_position('notes.kind=a', 0, false)`), [{ total: 20 }]);
});

t.test('a repair says how far it is, and forgets the totals of a table that is gone', async t => {
  const { writes } = await openTestDatabase(t);
  const run = (text: string) => writes.rows(text, []);
  await run('create table notes (id uuid primary key)');
  await run(`select list_watch('notes', '{}')`);
  await run('drop table notes');
  const said: string[] = [];
  const reports: Parameters<Report>[] = [];
  await repairCounts(
    writes,
    line => said.push(line),
    (...report) => reports.push(report),
  );
  t.ok(said.includes('notes is gone: its totals are forgotten.'));
  t.same(await run(keptOf('notes')), []);
  const lists = said.length;
  t.match(reports[0], [new RegExp(`^1 of ${lists} lists: counting \\w+, 0 s$`), 0]);
  const shares = reports.map(([, share = 1]) => share);
  t.same(shares, shares.toSorted());
  t.ok(Math.max(...shares) < 1 && new Set(shares).size > 1, `${shares}`);
});

/** Inserts specimens of the first burrow. */
const specimens = (amount: number) => `
  insert into specimens (id, label, grade, burrow_id, created_at, updated_at)
  select gen_random_uuid(), 'x', 'rough', '${burrows[0]}', now(), now() from generate_series(1, ${amount})`;
