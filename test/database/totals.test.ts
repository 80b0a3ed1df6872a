import { setTimeout as sleep } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { backend } from '../helper/database.ts';
import { seed } from '../helper/values/random.ts';
import {
  any,
  authors,
  below,
  foldAll,
  openSessions,
  type Session,
  writeOnce,
  wrongLists,
} from './sessions.ts';

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
      if (below(3) === 0) await first.run(`select list_fold(${1 + below(3000)}, 1)`);
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
    for (let step = 0; step < 45; step++) await writeOnce(own, { isolations, endings });
    writing--;
  });
  const folders = Array.from({ length: 2 }, async () => {
    const { run } = session();
    for (; writing > 0; await sleep(below(50))) await run(`select list_fold(${any([10, 300, 3000])}, 1)`);
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

t.test('totals are exact for an empty table, after a bulk load and after a repair', async t => {
  const session = (await openSessions(t))();
  const { run } = session;
  t.same(await wrongLists(session, ['users', 'posts']), []);
  await run(posts(2500));
  t.same(await wrongLists(session, ['users', 'posts']), [], 'with all changes in the log');
  t.same(await run('select list_fold(100, 1)'), [{ list_fold: 100 }], 'a bulk load counts as more to do');
  t.same(await run(waiting), [{ waiting: 4 }], 'all posts were counted at once');
  t.same(await wrongLists(session, ['users', 'posts']), []);
  await run('alter table posts disable trigger user');
  await run(posts(5000));
  await run('alter table posts enable trigger user');
  await run('select list_repair()');
  t.same(await wrongLists(session, ['users', 'posts']), []);
});

t.test('a large part gets counts of its own, and an empty one loses them', async t => {
  const session = (await openSessions(t))();
  const { run } = session;
  const parts = () => run(`select distinct part from list_counts where part like 'author%' order by 1`);
  for (let left = 3; left > 0; left--) {
    await run(posts(600));
    await foldAll(session);
  }
  t.same(await parts(), [], '1800 posts are counted');
  await run(posts(600));
  await foldAll(session);
  const part = `author_id=${authors[0]}`;
  t.same(await parts(), [{ part }]);
  await run('delete from posts');
  await foldAll(session);
  t.same(await parts(), []);
  t.same(await run(`select level, amount::int from list_counts where source = 'posts' order by 1`), [
    { level: 0, amount: 0 },
    { level: 1, amount: 0 },
    { level: 2, amount: 0 },
  ]);
  t.same(await wrongLists(session, ['posts']), []);
});

t.test('a table that has rows is counted when it is watched', async t => {
  const session = (await openSessions(t))();
  const { run } = session;
  await run(posts(3000));
  await run(`insert into notes select gen_random_uuid(), id, 'a' from posts`);
  await run(`select list_watch('notes', '{kind}')`);
  t.same(await wrongLists(session), []);
  const [row] = await run(`select total::int from list_place('notes', 'kind=a', 0, false)`);
  t.same(row, { total: 3000 }, 'its large parts, too');
});

/** Inserts posts of the first author. */
const posts = (amount: number) => `
  insert into posts (id, title, status, author_id, created_at, updated_at)
  select gen_random_uuid(), 'x', 'draft', '${authors[0]}', now(), now() from generate_series(1, ${amount})`;
