import { setTimeout as sleep } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { backend } from '../helper/database.ts';
import { seed } from '../helper/random.ts';
import { any, below, foldAll, openSessions, type Session, writeOnce, wrongLists } from '../helper/totals.ts';

const nodes = `select source, part, level, sum(amount)::int as amount, max(amount)::int as largest
  from list_counts group by 1, 2, 3 order by 1, 2, 3`;
const waiting = `select count(*)::int as waiting from list_sources cross join lateral list_pending(name, '')`;

/** What holds when everything is folded. */
async function checkNodes(t: Test, session: Session) {
  await foldAll(session);
  t.same(await session.run(waiting), [{ waiting: 0 }], 'nothing is left to fold');
  const rows = await session.run(nodes);
  for (const { source, part, level, largest, amount } of rows) {
    const root = rows.find(row => row.source === source && row.part === part && row.level === 2);
    t.equal(amount, root?.amount, `${source} ${part}: the nodes of level ${level} add up to the total`);
    if (level === 0) t.ok(Number(largest) <= 2048, `${source} ${part}: no block stays too large`);
  }
  await session.run('select list_repair()');
  t.same(await wrongLists(session), [], 'a repair counts the same');
}

t.test(`totals and pages are exact during a storm of writes, TEST_SEED=${seed}`, async t => {
  const session = await openSessions(t);
  const first = session();
  await first.run(`select list_watch('notes', '{post_id,kind}')`);
  if (backend === 'embedded') {
    for (let step = 0; step < 60; step++) {
      await writeOnce(first, { isolations: ['read committed'], endings: ['commit', 'commit', 'rollback'] });
      if (below(3) === 0) await first.run(`select list_fold(${1 + below(3000)})`);
      if (below(6) === 0) t.same(await wrongLists(first), [], `after step ${step}`);
    }
    return checkNodes(t, first);
  }
  await storm(t, session);
  await checkNodes(t, first);
});

/** Six writers, two that fold, one that rewrites tables, and two that compare; several seconds long. */
async function storm(t: Test, session: () => Session) {
  let writing = 6;
  const isolations = ['read committed', 'read committed', 'repeatable read', 'serializable'];
  const endings = ['commit', 'commit', 'commit', 'rollback', 'prepare'];
  const writers = Array.from({ length: writing }, async () => {
    const own = session();
    for (let step = 0; step < 60; step++) await writeOnce(own, { isolations, endings });
    writing--;
  });
  const folders = Array.from({ length: 2 }, async () => {
    const { run } = session();
    for (; writing > 0; await sleep(below(50)))
      await run(`select list_fold(${any([10, 300, 3000])})`).catch(error => {
        console.log('FOLD', error.code, error.message, error.where);
        t.fail(error.message);
      });
  });
  const vacuum = (async () => {
    const { run } = session();
    await run(`set lock_timeout = '200ms'`);
    const tables = ['list_log', 'list_counts', 'list_state', 'posts', 'notes'];
    for (; writing > 0; await sleep(below(400))) await run(`vacuum full ${any(tables)}`).catch(() => {});
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
