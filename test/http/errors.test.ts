import type { AddressInfo } from 'node:net';
import t from 'tap';
import { sql } from '../../drizzle/orm.ts';
import { orm } from '../../src/database/connection.ts';
import { build } from '../helper/app.ts';
import { openTestDatabase } from '../helper/database.ts';
import { exchange, parse, request } from '../helper/http.ts';

t.test('without a database requests for data are refused at once, and the process lives on', async t => {
  const database = await openTestDatabase(t);
  let available = false;
  const { call } = await build(t, { database: { ...database, available: () => available } });
  for (const [method, path] of [
    ['GET', '/api/users'],
    ['GET', '/api/users/x'],
    ['DELETE', '/api/posts/x'],
    ['GET', '/health/ready'],
  ] as const) {
    const { headers, body } = await call(method, path, 503);
    t.equal(headers['retry-after'], '1');
    t.same(body.error.details, { code: 'unavailable' });
  }
  await call('POST', '/api/users', 400, { body: {} });
  await call('GET', '/health/live', 200);
  available = true;
  await call('GET', '/api/users', 200);
  t.match((await call('GET', '/health/ready', 200)).body, { status: 'ok', database: database.kind });
});

t.test('a request that the database does not answer in time gets 503', async t => {
  const { call, database } = await build(t, { settings: { REQUEST_TIMEOUT: 1 } });
  const [locked, release] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const blocker = database.writes.transaction(async tx => {
    await orm(tx).execute(sql`lock table users in access exclusive mode`);
    locked.resolve();
    await release.promise;
  });
  await locked.promise;
  const { body } = await call('GET', '/api/users', 503);
  t.match(body.error.message, /too long/);
  release.resolve();
  await blocker;
  await call('GET', '/api/users', 200);
});

t.test('a request that Node would refuse by itself gets a body too', async t => {
  const { app } = await build(t);
  const noHost = parse(await exchange(app, 'GET /api/users HTTP/1.1\r\nConnection: close\r\n\r\n'));
  t.match(noHost, { status: 400, body: { error: { message: 'HTTP/1.1 requires one Host header.' } } });
  const twoHosts = await exchange(
    app,
    'GET /api/users HTTP/1.1\r\nHost: a\r\nhost: b\r\nConnection: close\r\n\r\n',
  );
  t.equal(parse(twoHosts).status, 400);
  t.equal(parse(await exchange(app, 'GET /api/users HTTP/1.0\r\n\r\n')).status, 200);
  t.equal(parse(await exchange(app, 'GET /api/users\r\n\r\n')).status, 400, 'HTTP/0.9');
  t.equal(parse(await exchange(app, 'GET /api/users HTTP/1.0\r\n\r\n')).status, 200);
  t.equal(parse(await exchange(app, request('GET /api/users', { Expect: 'wonders' }))).status, 200);
});

t.test('a body of 5 MB gets 413, even if the client sends all of it first', async t => {
  const { app } = await build(t);
  const body = Buffer.alloc(5_000_000, 0x20);
  const head = { 'Content-Type': 'application/json', 'Content-Length': String(body.length) };
  const large = request('POST /api/users', { ...head, Connection: 'keep-alive' });
  const answer = await exchange(app, large, body, request('GET /api/posts'));
  t.equal(parse(answer).status, 413);
  t.match(answer, /HTTP\/1\.1 200 OK/, 'and the connection is still usable');
  for (const line of ['POST /api/users', 'POST /nothing', 'PUT /api/users']) {
    const closing = await exchange(app, request(line, head), body);
    t.match(parse(closing).status, /^4\d\d$/, `${line}, even on a connection that is to be closed`);
  }
  const { address, port } = app.server.address() as AddressInfo;
  const headers = { 'content-type': 'application/json' };
  const fetched = await fetch(`http://${address}:${port}/api/users`, { method: 'POST', headers, body });
  t.match(await fetched.json(), { error: { status: 413, message: 'The body is too large.' } });
});
