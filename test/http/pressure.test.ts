// runs: late
import { type AddressInfo, connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import type { Database } from '#src/database/database.ts';
import { build } from '#test/helper/app.ts';
import { hold } from '#test/helper/database.ts';
import { buildReceiver, paymentEvent, valuesOf } from '#test/helper/events/webhooks.ts';
import { until } from '#test/rig/process.ts';

/** Blocks reads of users by a lock on a server, or by the only connection of the embedded database. */
const holdUsers = (database: Database) =>
  hold(database, tx => tx.rows('lock table users in access exclusive mode', []));

const refused = { status: 503, headers: { 'retry-after': '1' } };

t.test('above MAX_IN_FLIGHT each transport refuses in its own format, and health still answers', async t => {
  const { call, deliver, database, app, metrics } = await buildReceiver(t, {
    settings: { MAX_IN_FLIGHT: 2, CORS_ORIGINS: 'https://app.example', TRUST_PROXY: '1' },
  });
  // Loads the modules of GraphQL: on a busy machine this takes longer than reads wait for a lock.
  await call('POST', '/api/graphql', 200, { body: { query: '{ __typename }' } });
  const release = await holdUsers(database);
  // An address may use a quarter of MAX_IN_FLIGHT, at least one place: two addresses fill it.
  const from = (address: string) => ({ headers: { 'x-forwarded-for': address } });
  const waiting = ['192.0.2.1', '192.0.2.2'].map(address => call('GET', '/api/users', 200, from(address)));
  await until('both are in flight', () => app.pressure.inFlight === 2);

  const rest = await call('GET', '/api/burrows', 503, { headers: { origin: 'https://app.example' } });
  t.equal(
    rest.headers['access-control-allow-origin'],
    'https://app.example',
    'a page can read when to retry',
  );
  t.match(rest, { ...refused, body: { error: { status: 503, details: { code: 'overloaded' } } } });
  const graphql = await call('POST', '/api/graphql', 503, { body: { query: '{ users { id } }' } });
  t.match(graphql, {
    ...refused,
    body: { errors: [{ extensions: { code: 'UNAVAILABLE', details: { code: 'overloaded' } } }] },
  });
  t.match(await deliver(paymentEvent(), 503), refused, 'the provider will retry');
  await call('GET', '/health/live', 200);
  t.same(await valuesOf(metrics, 'http_requests_shed_total'), new Map([['', 3]]));

  await release();
  await Promise.all(waiting);
  await call('GET', '/api/burrows', 200);
  t.equal(app.pressure.inFlight, 0, 'every slot is free again');
});

t.test('a request that has not fully arrived takes no slot', async t => {
  const { app, call } = await build(t, { settings: { MAX_IN_FLIGHT: 1 } });
  await app.listen({ port: 0, host: '127.0.0.1' });
  const { port } = app.server.address() as AddressInfo;
  const half =
    'POST /api/users HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n{';
  const sockets = Array.from({ length: 5 }, () => connect(port, '127.0.0.1'));
  for (const socket of sockets) socket.write(half);
  t.teardown(() => sockets.map(socket => socket.on('error', () => {}).destroy()));
  await sleep(200);
  await call('GET', '/api/users', 200);
});

t.test('requests are refused while the event loop lags, and no longer', async t => {
  const { app, call } = await build(t, { maxDelay: 50 });
  const status = async () => (await app.inject('/api/burrows')).statusCode;
  t.equal(await status(), 200);
  await until('requests are refused', async () => {
    for (const end = performance.now() + 100; performance.now() < end; );
    return (await status()) === 503;
  });
  t.match(await call('GET', '/api/burrows', 503), refused);
  await call('GET', '/health/ready', 200);
  await until('requests are served again', async () => (await status()) === 200);
});
