import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import postgres from 'postgres';
import t, { type Test } from 'tap';
import { openPostgres } from '../../src/database/postgres/postgres.ts';
import { backend, createPostgres, testLog } from '../helper/database.ts';

/** A server that treats its connections as a test wants; it counts them, and knows which are open. */
async function serve(t: Test, treat: (socket: Socket) => void) {
  const open = new Set<Socket>();
  const seen = { count: 0, open };
  const server = createServer({ allowHalfOpen: true }, socket => {
    seen.count++;
    open.add(socket);
    socket.on('error', () => {}).on('close', () => open.delete(socket));
    treat(socket);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    for (const socket of open) socket.destroy();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { seen, url: `postgres://x:x@127.0.0.1:${port}/x` };
}
/** Like a server that is frozen: the kernel takes connections for it, and it says nothing, not even good-bye. */
function sayNothing(socket: Socket) {
  // A client that only said good-bye would still read this; one that is gone resets the connection.
  socket.resume().on('end', async () => {
    for (let i = 0; i < 3 && socket.writable; i++, await sleep(10)) socket.write('?');
  });
}
/** Like a balancer with nothing behind it. */
const hangUp = (socket: Socket) => void socket.resume().end();

const outcome = (work: PromiseLike<unknown>, milliseconds = 3000) =>
  Promise.race([
    Promise.resolve(work).then(
      () => 'done',
      error => String(error.code),
    ),
    sleep(milliseconds, 'nothing', { ref: false }),
  ]);

t.test('a server that hangs up at once fails the statement, and is not called again and again', async t => {
  const { seen, url } = await serve(t, hangUp);
  const sql = postgres(url, { max: 1, backoff: () => 0 });
  t.teardown(() => sql.end({ timeout: 0 }));
  t.equal(await outcome(sql`select 1`), 'CONNECTION_CLOSED');
  t.equal(seen.count, 1);
});

t.test('when each of several hosts refuses, the statement fails', async t => {
  const sql = postgres('postgres://x:x@127.0.0.1:1,127.0.0.1:2/x', { max: 1, backoff: () => 0 });
  t.teardown(() => sql.end({ timeout: 0 }));
  t.equal(await outcome(sql`select 1`), 'ECONNREFUSED');
  t.equal(await outcome(sql`select 1`), 'ECONNREFUSED', 'and so does the next');
});

t.test('cut() fails what waits for a silent server, and leaves no connection', async t => {
  const { seen, url } = await serve(t, sayNothing);
  const sql = postgres(url, { max: 2, backoff: () => 0 }) as postgres.Sql as postgres.Sql & {
    cut: () => void;
  };
  t.teardown(() => sql.end({ timeout: 0 }));
  const waiting = [1, 2, 3, 4].map(() => outcome(sql`select 1`));
  await sleep(200);
  t.equal(seen.count, 2);
  sql.cut();
  t.same(await Promise.all(waiting), Array(4).fill('CONNECTION_CLOSED'));
  await sleep(100);
  t.equal(seen.open.size, 0);
});

const onPostgres = backend === 'postgres' ? {} : { skip: 'needs a server: node scripts/test.ts postgres' };

t.test('a connection lost while it learns the types fails its statement only', onPostgres, async t => {
  const { hostname, port, pathname } = new URL(await createPostgres(t, { empty: true }));
  const rejected: unknown[] = [];
  const note = (error: unknown) => rejected.push(error);
  process.on('unhandledRejection', note);
  t.teardown(() => process.off('unhandledRejection', note));
  const { url } = await serve(t, socket => {
    const server = connect(Number(port), hostname);
    server.on('data', chunk => socket.write(chunk)).on('error', () => {});
    socket.on('close', () => server.destroy());
    socket.on('data', chunk =>
      chunk.includes('pg_catalog.pg_type') ? socket.destroy() : server.write(chunk),
    );
  });
  const sql = postgres(url.replace('x:x', 'triport:triport').replace('/x', pathname), {
    max: 1,
    backoff: () => 0,
  });
  t.teardown(() => sql.end({ timeout: 0 }));
  t.match(await outcome(sql`select 1`), /^(CONNECTION_CLOSED|ECONNRESET)$/);
  await sleep(50);
  t.same(rejected, []);
});

for (const [name, treat] of Object.entries({ sayNothing, hangUp }))
  t.test(`the database can be closed while its server does no more than ${name}`, async t => {
    const { seen, url } = await serve(t, treat);
    const database = openPostgres({ url, connections: 2 }, testLog);
    t.equal(database.available(), false);
    await sleep(700);
    t.ok(seen.count < 20, `${seen.count} connections were tried`);
    t.not(await outcome(database.ping(), 10_000), 'nothing', 'a ping has an end');
    t.not(await outcome(database.close()), 'nothing', 'and so has closing');
    await database.ready;
    await sleep(100);
    t.equal(seen.open.size, 0);
  });

t.test('one lost connection does not make the service refuse requests', onPostgres, async t => {
  const url = await createPostgres(t);
  const database = openPostgres({ url, connections: 2 }, testLog);
  t.teardown(() => database.close());
  await database.ready;
  const beside = postgres(url, { max: 1 });
  t.teardown(() => beside.end());
  await beside`select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'triport' limit 1`;
  for (const end = Date.now() + 500; Date.now() < end; await sleep(1))
    if (!database.available()) return t.fail('the service refused requests');
  await database.ping();
});
