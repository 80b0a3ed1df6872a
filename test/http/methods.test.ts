import { METHODS } from 'node:http';
import t from 'tap';
import { build } from '#test/helper/app.ts';
import { exchange, parse, request } from '#test/helper/http.ts';

const { app, call, newUser } = await build(t);
const user = await newUser();
const allowed: Record<string, string> = {
  '/': 'GET, HEAD, OPTIONS',
  '/health/ready': 'GET, HEAD, OPTIONS',
  '/docs': 'GET, HEAD, OPTIONS',
  '/docs/json': 'GET, HEAD, OPTIONS',
  '/api/users': 'GET, HEAD, OPTIONS, POST',
  [`/api/users/${user.id}`]: 'DELETE, GET, HEAD, OPTIONS, PATCH, PUT',
};

t.test('HEAD is GET without the body', async t => {
  for (const path of Object.keys(allowed)) {
    const [head, get] = [await call('HEAD', path, 200), await call('GET', path, 200)];
    t.equal(head.text, '');
    const stable = ({ headers }: typeof get) =>
      Object.fromEntries(Object.entries(headers).filter(([name]) => !/date|ratelimit|request-id/.test(name)));
    t.same(stable(head), stable(get), path);
    t.equal(Number(head.headers['content-length']), Buffer.byteLength(get.text));
  }
  t.ok((await call('HEAD', '/api/users?limit=1', 200)).headers.link);
  await call('HEAD', '/api/users?limit=0', 400);
});

t.test('every other method on a known path is 405 with Allow', async t => {
  const methods = METHODS.filter(name => name !== 'CONNECT');
  t.ok(methods.length > 30);
  for (const [path, allow] of Object.entries(allowed))
    for (const method of methods.filter(name => !allow.split(', ').includes(name))) {
      const { headers, body } = await call(method, path, 405);
      t.equal(headers.allow, allow, `${method} ${path}`);
      t.match(body.error, {
        message: `This path supports ${allow}.`,
        details: { code: 'method_not_allowed' },
      });
    }
});

t.test('a 405 does not depend on the body or the query', async () => {
  const headers = { 'content-type': 'application/json' };
  await call('DELETE', '/api/users', 405, { raw: '{', headers });
  await call('PUT', '/api/users?x=1', 405, { raw: 'x', headers: { 'content-type': 'text/plain' } });
  await call('POST', `/api/users/${user.id}`, 405, { raw: Buffer.alloc(1_000_000), headers });
});

t.test('an unknown path is 404 for every method, whatever the body', async t => {
  for (const method of METHODS.filter(name => name !== 'CONNECT')) await call(method, '/api/nothing', 404);
  const headers = { 'content-type': 'application/json' };
  for (const raw of ['{', '', Buffer.alloc(1_000_000)]) await call('POST', '/nothing', 404, { raw, headers });
  // These have an empty id.
  for (const path of ['/api/users/', '/api/burrows/']) await call('GET', path, 404);
  for (const path of [
    ...['/users', '/api/', '/api', '/api//users', '//api/users'],
    ...[`/api/users/${user.id}/`, `/api/users/${user.id}/tendings`, `/API/users/${user.id}`],
    '/api/users;page=2',
    '/api/users.json',
    '/api/v1/users',
    '/.env',
    '/docs/x',
    '/docs/page/x',
    '/docs/page/x/..%2f..%2fpackage.json',
  ])
    t.match((await call('GET', path, 404)).body.error, {
      message: 'There is nothing at this path.',
      details: { code: 'not_found' },
    });
});

t.test('unusual methods and paths are answered over a real socket', async t => {
  const odd = parse(await exchange(app, request('PROPFIND /api/users')));
  t.match(odd, {
    status: 405,
    headers: { allow: 'GET, HEAD, OPTIONS, POST' },
    body: { error: { status: 405 } },
  });
  const climb = parse(await exchange(app, request('GET /docs/page/../../../../etc/passwd')));
  t.match(climb, { status: 404, body: { error: { details: { code: 'not_found' } } } });
  for (const [bytes, status] of [
    [request('FOO /api/users'), 400],
    ['GET / HTTP/1.1\r\nConnection: close\r\n\r\n', 400],
    ['GET / HTTP/1.1\r\nHost: a\r\nhost: b\r\nConnection: close\r\n\r\n', 400],
    ['GET /\r\n\r\n', 400],
    ['GET /api/users HTTP/1.0\r\n\r\n', 200],
    [request('GET /api/users', { Expect: 'wonders' }), 200],
  ] as const)
    t.match(parse(await exchange(app, bytes)), { status, headers: { 'content-type': /json/ } }, bytes);
  const list = parse(await exchange(app, request('GET http://elsewhere.example/api/users?limit=1')));
  t.equal(list.status, 200);
  t.match(list.headers.link, /^<\/api\/users\?/, 'no link points to the host that the client named');
});
