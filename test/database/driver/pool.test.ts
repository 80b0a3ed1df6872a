// runs: in its own process
import { setImmediate as turn } from 'node:timers/promises';
import postgres from 'postgres';
import t, { type Test } from 'tap';
import { Pool } from '#src/database/postgres/pool.ts';
import { createPostgres } from '#test/helper/database.ts';
import { outcome, sayNothing, startFakeServer } from '#test/helper/servers/fakeServer.ts';
import { until } from '#test/rig/process.ts';
import { onPostgres } from './client.ts';

function makePool(t: Test, url: string, options: { max: number; wait?: number }): Pool {
  const pool = new Pool(() => postgres(url, { max: options.max, backoff: () => 0 }), options.wait);
  t.teardown(() => pool.close(0));
  return pool;
}

t.test('a reset fails everything that waits for a silent server, and leaves no connection', async t => {
  const { seen, url } = await startFakeServer(t, sayNothing);
  const pool = makePool(t, url, { max: 2 });
  const waiting = [1, 2, 3, 4].map(() => outcome(pool.sql`select 1`));
  await until('both connections are made', () => seen.count === 2);
  pool.reset();
  t.same(await Promise.all(waiting), Array(4).fill('CONNECTION_DESTROYED'));
  t.ok(await seen.allClosed());
});

// Bug: a probe that got no answer reset a closing pool, which opened a new client that nobody closed.
t.test('a reset while the pool closes does not open it again', async t => {
  const { seen, url } = await startFakeServer(t, sayNothing);
  const pool = makePool(t, url, { max: 1 });
  const waiting = outcome(pool.sql`select 1`);
  await until('a connection is made', () => seen.count > 0);
  const closing = pool.close(60);
  pool.reset();
  t.equal(await waiting, 'CONNECTION_DESTROYED', 'the reset does not wait for the grace');
  t.equal(await outcome(closing), 'done');
  t.match(await outcome(pool.sql`select 1`), /^CONNECTION_/);
  t.equal(seen.count, 1, 'no other connection is made');
  t.ok(await seen.allClosed());
});

// Bug: old events were not trimmed after a start that kept the process busy for longer than a statement may wait.
t.test('a statement does not lose its connection because the process stood still', onPostgres, async t => {
  const pool = makePool(t, await createPostgres(t, { empty: true }), { max: 1, wait: 2 });
  const works = [1, 2].map(() => outcome(pool.sql`select 1`));
  await turn();
  for (const end = performance.now() + 2500; performance.now() < end; );
  t.same(await Promise.all(works), ['done', 'done']);
});

t.test('a statement that waits too long for a connection fails and is never sent', onPostgres, async t => {
  const pool = makePool(t, await createPostgres(t, { empty: true }), { max: 1, wait: 0.3 });
  await pool.sql`create table notes (text text)`;
  await pool.sql.begin(async tx => {
    await tx`select 1`;
    const waiting = [1, 2].map(() => outcome(pool.sql`insert into notes values ('late')`));
    await turn();
    t.same(pool.sql.load(), { used: 1, waiting: 2 });
    t.same(await Promise.all(waiting), ['CONNECTION_WAIT_TIMEOUT', 'CONNECTION_WAIT_TIMEOUT']);
    t.same(pool.sql.load(), { used: 1, waiting: 0 });
  });
  t.same([...(await pool.sql`select text from notes`)], []);
  t.same(pool.sql.load(), { used: 0, waiting: 0 });
});
