// runs: long, late, in its own process
import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { serviceName } from '#schemas/name.ts';
import { connectTo } from '#src/database/postgres/client.ts';
import { openPostgres } from '#src/database/postgres/postgres.ts';
import { createPostgres, testLog } from '#test/helper/database.ts';
import {
  hangUp,
  outcome,
  passOnUntil,
  refuseClient,
  sayNothing,
  startFakeServer,
  watchUncaught,
} from '#test/helper/servers/fakeServer.ts';
import { queryPostgres } from '#test/rig/cluster/postgres.ts';
import { onPostgres, openClient } from './client.ts';

/** Ends only the clients of this database: other tests run on the same server. */
const endClients = `select pg_terminate_backend(pid) from pg_stat_activity
  where application_name = '${serviceName}' and datname = current_database()`;

t.test('a server that hangs up fails the statement, and is asked once for each', async t => {
  const { seen, url } = await startFakeServer(t, hangUp);
  // Each statement tries all hosts, whatever happened to the statement before.
  for (const hosts of [url, url.replace('@', '@127.0.0.1:1,')]) {
    const sql = openClient(t, hosts);
    for (const _ of [1, 2]) {
      const before = seen.count;
      t.equal(await outcome(sql`select 1`), 'CONNECTION_CLOSED');
      t.equal(seen.count, before + 1);
    }
  }
});

t.test('a connection lost while it learns the types fails only its statement', onPostgres, async t => {
  const target = await createPostgres(t, { empty: true });
  const uncaught = watchUncaught(t);
  const learnsTypes = (chunk: Buffer) => chunk.includes('pg_catalog.pg_type');
  const { url } = await startFakeServer(t, passOnUntil(target, learnsTypes));
  const { username, password, pathname } = new URL(target);
  const sql = openClient(t, url, { username, password, database: pathname.slice(1) });
  t.match(await outcome(sql`select 1`), /^(CONNECTION_CLOSED|ECONNRESET)$/);
  await sleep(50);
  t.same(uncaught, []);
});

for (const [name, behaviour] of Object.entries({ sayNothing, hangUp }))
  t.test(`the database can be closed while its server never answers: ${name}`, async t => {
    const { seen, url } = await startFakeServer(t, behaviour);
    const database = openPostgres({ url, connections: 2 }, testLog);
    t.equal(database.available(), false);
    await sleep(700);
    t.ok(seen.count < 20, `${seen.count} connections were tried`);
    t.not(await outcome(database.close()), 'nothing', 'closing ends');
    await database.ready;
    t.ok(await seen.allClosed());
  });

t.test('one lost connection does not make the service refuse requests', onPostgres, async t => {
  const url = await createPostgres(t);
  const database = openPostgres({ url, connections: 2 }, testLog);
  t.teardown(() => database.close());
  await database.ready;
  await queryPostgres(url, `${endClients} limit 1`);
  for (const end = Date.now() + 500; Date.now() < end; await sleep(1))
    if (!database.available()) return t.fail('the service refused requests');
  await database.reads.rows('select 1', []);
});

// Bug: a process that had stood still before it sent the question took the server for dead.
t.test('a process that stood still does not take the server for dead', onPostgres, async t => {
  const probe = connectTo({ url: await createPostgres(t, { empty: true }), connections: 1 });
  t.teardown(() => probe.close());
  for (const _ of [1, 2]) {
    const answer = probe.ask('select 1 as one', 1000);
    for (const end = Date.now() + 1100; Date.now() < end; );
    t.same([...(await answer)], [{ one: 1 }]);
  }
});

// Bug: the driver drops the number 0, so the limit of the database ended the repair of a large list.
t.test('a time limit of 0 is no limit, whatever the database says', onPostgres, async t => {
  const url = await createPostgres(t, { empty: true });
  const name = new URL(url).pathname.slice(1);
  await queryPostgres(url, `alter database ${name} set statement_timeout = '1s'`);
  const pool = connectTo({ url, connections: 1, statementTimeout: 0 });
  t.teardown(() => pool.close());
  t.same([...(await pool.sql`show statement_timeout`)], [{ statement_timeout: '0' }]);
});

// Bug: the pause after a check outlived the database, and each command ended a quarter of a second late.
t.test('a closed database leaves no timer that keeps the process alive', onPostgres, async t => {
  const timers = () => process.getActiveResourcesInfo().filter(name => name === 'Timeout').length;
  const url = await createPostgres(t);
  const before = timers();
  const database = openPostgres({ url, connections: 1 }, testLog);
  await database.ready;
  t.ok(timers() > before, 'the watch pauses');
  await database.close();
  t.ok(timers() <= before);
});

// Bug: the next connection followed a refused one without a pause.
t.test('a server that is full is asked again only after a pause', onPostgres, async t => {
  const target = await createPostgres(t);
  const isRefused = (chunk: Buffer) => isStartOf('triport', chunk);
  const { seen, url } = await startFakeServer(t, passOnUntil(target, isRefused, refuseClient));
  const through = Object.assign(new URL(target), { host: new URL(url).host });
  const database = openPostgres({ url: through.href, connections: 2 }, testLog);
  t.teardown(() => database.close());
  await sleep(1000);
  t.ok(seen.count > 0 && seen.count <= 12, `${seen.count} connections were tried`);
});

/** Whether a client of this name begins a connection. */
const isStartOf = (name: string, chunk: Buffer) => chunk.includes(`application_name\0${name}\0`);
