import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import postgres from 'postgres';
import t from 'tap';
import { connectTo } from '../../../src/database/postgres/client.ts';
import { openPostgres } from '../../../src/database/postgres/postgres.ts';
import { backend, createPostgres, testLog } from '../../helper/database.ts';
import {
  hangUp,
  outcome,
  passOnUntil,
  refuseClient,
  sayNothing,
  startFakeServer,
  watchUncaught,
} from '../../helper/servers/fakeServer.ts';
import { queryPostgres } from '../../rig/servers/postgresServer.ts';

/** The numbers are issues of github.com/porsager/postgres; see docs/decisions/08-postgres-driver.md. */
const onPostgres = backend === 'postgres' ? {} : { skip: 'needs a server: node scripts/test.ts postgres' };

t.test('a server that hangs up at once fails the statement, without endless reconnects: #1193', async t => {
  const { seen, url } = await startFakeServer(t, hangUp);
  const sql = postgres(url, { max: 1, backoff: () => 0 });
  t.teardown(() => sql.end({ timeout: 0 }));
  t.equal(await outcome(sql`select 1`), 'CONNECTION_CLOSED');
  t.equal(seen.count, 1);
});

t.test('when each of several hosts refuses, the statement fails: #1174', async t => {
  const sql = postgres('postgres://x:x@127.0.0.1:1,127.0.0.1:2/x', { max: 1, backoff: () => 0 });
  t.teardown(() => sql.end({ timeout: 0 }));
  t.equal(await outcome(sql`select 1`), 'ECONNREFUSED');
  t.equal(await outcome(sql`select 1`), 'ECONNREFUSED', 'and so does the next');
});

t.test('each statement tries each of several hosts, whatever happened to the one before: #1174', async t => {
  const { seen, url } = await startFakeServer(t, hangUp);
  const sql = postgres(url.replace('@', '@127.0.0.1:1,'), { max: 1, backoff: () => 0 });
  t.teardown(() => sql.end({ timeout: 0 }));
  for (const attempt of [1, 2]) {
    t.equal(await outcome(sql`select 1`), 'CONNECTION_CLOSED');
    t.equal(seen.count, attempt);
  }
});

t.test('a password that arrives after the connection is lost does no harm: #1154', async t => {
  const askForPassword = (socket: Socket) =>
    void socket.once('data', () => {
      socket.end(Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 3]));
    });
  const { url } = await startFakeServer(t, askForPassword);
  const uncaught = watchUncaught(t);
  const sql = postgres(url, { max: 1, backoff: () => 0, password: () => sleep(50, 'secret') });
  t.teardown(() => sql.end({ timeout: 0 }));
  t.equal(await outcome(sql`select 1`), 'CONNECTION_CLOSED');
  await sleep(100);
  t.same(uncaught, []);
});

t.test('a connection lost while it learns the types fails only its statement: #1192', onPostgres, async t => {
  const target = await createPostgres(t, { empty: true });
  const uncaught = watchUncaught(t);
  const learnsTypes = (chunk: Buffer) => chunk.includes('pg_catalog.pg_type');
  const { url } = await startFakeServer(t, passOnUntil(target, learnsTypes));
  const { username, password, pathname } = new URL(target);
  const sql = postgres(url, { max: 1, backoff: () => 0, username, password, database: pathname.slice(1) });
  t.teardown(() => sql.end({ timeout: 0 }));
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
    t.not(await outcome(database.ping(), 10_000), 'nothing', 'a ping ends');
    t.not(await outcome(database.close()), 'nothing', 'and so does closing');
    await database.ready;
    t.ok(await seen.allClosed());
  });

t.test('one lost connection does not make the service refuse requests', onPostgres, async t => {
  const url = await createPostgres(t);
  const database = openPostgres({ url, connections: 2 }, testLog);
  t.teardown(() => database.close());
  await database.ready;
  const admin = postgres(url, { max: 1 });
  t.teardown(() => admin.end());
  // Of this database: other tests run on the same server.
  await admin`select pg_terminate_backend(pid) from pg_stat_activity
    where application_name = 'triport' and datname = current_database() limit 1`;
  for (const end = Date.now() + 500; Date.now() < end; await sleep(1))
    if (!database.available()) return t.fail('the service refused requests');
  await database.ping();
});

// Bug: the driver drops the number 0, and the limit of the database ended the repair of a large list.
t.test('a time limit of 0 is no limit, whatever the database says', onPostgres, async t => {
  const url = await createPostgres(t, { empty: true });
  const name = new URL(url).pathname.slice(1);
  await queryPostgres(url, `alter database ${name} set statement_timeout = '1s'`);
  const pool = connectTo({ url, connections: 1, statementTimeout: 0 }, testLog);
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

// Bug: a refused connection makes the watch check at once, and the check led to the next connection, without a pause.
for (const [when, most] of Object.entries({ 'from the start': 25, later: 10 }))
  t.test(`a server that is full ${when} is asked again only after a pause`, onPostgres, async t => {
    const target = await createPostgres(t);
    let full = when === 'from the start';
    const isRefused = (chunk: Buffer) => full && isStartOf('triport', chunk);
    const { seen, url } = await startFakeServer(t, passOnUntil(target, isRefused, refuseClient));
    const through = Object.assign(new URL(target), { host: new URL(url).host });
    const database = openPostgres({ url: through.href, connections: 2 }, testLog);
    t.teardown(() => database.close());
    if (!full) {
      await database.ready;
      full = true;
      const own = `application_name = 'triport' and datname = current_database()`;
      await queryPostgres(target, `select pg_terminate_backend(pid) from pg_stat_activity where ${own}`);
    }
    const before = seen.count;
    await sleep(3000);
    const tried = seen.count - before;
    t.ok(tried > 0 && tried <= most, `${tried} connections were tried`);
    await database.ping();
  });

/** Whether a client of this name begins a connection. */
const isStartOf = (name: string, chunk: Buffer) => chunk.includes(`application_name\0${name}\0`);
