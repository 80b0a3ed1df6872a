import t from 'tap';
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
