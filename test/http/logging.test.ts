import { type AddressInfo, connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { sql } from '#drizzle/orm.ts';
import { orm } from '#src/database/connection.ts';
import { openLog } from '#src/telemetry/log.ts';
import { Metrics } from '#src/telemetry/metrics.ts';
import { build } from '#test/helper/app.ts';
import { openTestDatabase } from '#test/helper/database.ts';
import { valuesOf } from '#test/helper/events/webhooks.ts';
import { exchange, parse, request } from '#test/helper/http.ts';

const database = await openTestDatabase(t);

/** A log that keeps its lines. */
function memoryLog() {
  const lines: string[] = [];
  const stream = { write: (line: string) => void lines.push(line) };
  const log = openLog({ LOG_LEVEL: 'debug' }, false, stream);
  return { log, lines, all: () => lines.map(line => JSON.parse(line)) };
}

t.test('an internal error is masked for the client and complete in the log, under the same id', async t => {
  const { log, lines, all } = memoryLog();
  const { call, database } = await build(t, { log });
  // Causes real errors: a table and a column are missing.
  await orm(database.writes).execute(sql`drop table whispers cascade`);
  await orm(database.writes).execute(sql`alter table users drop column updated_at`);
  for (const [method, path, body] of [
    ['GET', '/api/whispers?words=Secret+title', undefined],
    ['POST', '/api/users', { name: 'Secret name', email: 'secret@example.com' }],
  ] as const) {
    const { text, headers } = await call(method, path, 500, body && { body });
    t.equal(text, '{"error":{"message":"Internal error.","status":500,"details":{"code":"internal"}}}\n');
    const line = all().find(each => each.level === 50 && each.reqId === headers['x-request-id']);
    t.match(line.err.message, /^Failed query: (select|insert|with)/);
    t.match(line.err.cause, { code: /^42/, message: /does not exist/ });
    t.match(line.err.stack, /src\/(services|database)/, 'the stack is there');
  }
  t.notMatch(lines.join(''), /secret[@ ]|Secret[ +]title/i, 'but not the data of users');
});

t.test('the log has one line for each request, without the data of users', async t => {
  const { log, lines, all } = memoryLog();
  const { call, newUser } = await build(t, { log, database });
  await newUser({ name: 'Secret', email: 'secret@example.com' });
  await call('POST', '/api/users', 409, { body: { name: 'Secret', email: 'SECRET@example.com' } });
  await call('GET', '/api/users?email=secret@example.com&name=Secret', 200);
  await call('GET', '/api/users/secret@example.com', 404);
  await call('GET', '/api/users/secret%40example.com', 404);
  await call('GET', '/api/users/secret%2540example.com', 404);
  await call('GET', '/api/users/%zz?email=secret@example.com', 400);
  await call('GET', '/api/users?secret=1', 400, { headers: { authorization: 'secret', cookie: 'secret' } });
  await sleep(20);
  const answered = all().filter(({ msg }) => msg === 'answered');
  t.same(
    answered.map(({ method, path, status }) => `${method} ${path} ${status}`),
    [
      'POST /api/users 201',
      'POST /api/users 409',
      'GET /api/users 200',
      'GET /api/users/[address] 404',
      'GET /api/users/[address] 404',
      'GET /api/users/[address] 404',
      'GET /api/users/%zz 400',
      'GET /api/users 400',
    ],
  );
  t.ok(answered.every(line => line.reqId && line.ms >= 0 && line.address === '127.0.0.1'));
  t.notMatch(lines.join(''), /secret/i);
});

t.test('a health check that succeeds is no news, and one that fails is', async t => {
  const { log, all } = memoryLog();
  const { call, database } = await build(t, { log });
  await call('GET', '/health/live', 200);
  await call('GET', '/health/ready', 200);
  await database.close();
  await call('GET', '/health/ready', 503);
  await sleep(20);
  t.same(
    all()
      .filter(({ msg }) => msg === 'answered')
      .map(({ path, level }) => `${path} ${level}`),
    ['/health/live 20', '/health/ready 20', '/health/ready 30'],
  );
});

t.test('a client that leaves before its response is sent is logged and counted as 499', async t => {
  const { log, all } = memoryLog();
  const metrics = new Metrics();
  const { app } = await build(t, { log, metrics, database });
  await app.listen({ port: 0, host: '127.0.0.1' });
  const half =
    'POST /api/users HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n{';
  const socket = connect((app.server.address() as AddressInfo).port, '127.0.0.1');
  socket.write(half, () => socket.resetAndDestroy());
  const ended = () => all().filter(({ status }) => status !== undefined);
  for (let i = 0; i < 200 && ended().length === 0; i++) await sleep(10);
  await sleep(50);
  t.match(ended(), [{ msg: 'client left', status: 499, path: '/api/users', address: '127.0.0.1' }]);
  t.equal(ended().length, 1);
  const counts = await valuesOf(metrics, 'http_request_duration_seconds_count');
  t.same(Object.fromEntries(counts), { '{method="POST",route="/api/users",status="499"}': 1 });
});

t.test('the longest path does not slow the log down', async t => {
  const { call } = await build(t, { database });
  await call('GET', '/api/users/x', 404);
  const before = performance.now();
  // Each of these requests once blocked the event loop for half a second.
  for (let i = 0; i < 5; i++) await call('GET', `/api/users/${'a'.repeat(15_000)}`, 404);
  await call('GET', `/api/users/${'@/'.repeat(7000)}`, 404);
  t.ok(performance.now() - before < 2000, `${performance.now() - before} ms`);
});

t.test('invalid HTTP gets an error in the envelope', async t => {
  const { log, all } = memoryLog();
  const { app } = await build(t, { log, database });
  for (const [bytes, status, code] of [
    ['nonsense\r\n\r\n', 400, 'bad_request'],
    ['PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 400, 'bad_request'],
    [request('GET /api/users', { 'X-Large': 'x'.repeat(100_000) }), 431, 'headers_too_large'],
    [request(`GET /api/users?name=${'x'.repeat(100_000)}`), 431, 'headers_too_large'],
    [
      request('POST /api/users', { 'Content-Length': '5', 'Transfer-Encoding': 'chunked' }),
      400,
      'bad_request',
    ],
    [request('POST /api/users', { 'Content-Length': '-1' }), 400, 'bad_request'],
    [request('GET /api/users/\u00ff'), 400, 'bad_request'],
  ] as const) {
    const answer = parse(await exchange(app, bytes));
    t.equal(answer.status, status, bytes.slice(0, 40));
    t.match(answer.headers, { 'content-type': 'application/json', connection: 'close' });
    t.match(answer.body, { error: { status, message: String, details: { code } } });
    t.ok(
      all().some(line => line.reqId === answer.headers['x-request-id'] && line.status === status),
      'logged',
    );
  }
});
