import t from 'tap';
import { build } from '../helper/app.ts';

const { call, newUser } = await build(t);

t.test('every answer has a request id: the one of the client if it is valid', async t => {
  for (const id of ['a', 'abc-123', '0b4c1f9e-8f43-4f0e-9d0b-6a3f9a0e7d11', 'x'.repeat(100), 'a.b:c_d-e'])
    for (const [path, status] of [
      ['/api/users', 200],
      ['/api/users/x', 404],
      ['/api/users?x', 400],
      ['/nothing', 404],
    ] as const) {
      const { headers } = await call('GET', path, status, { headers: { 'x-request-id': id } });
      t.equal(headers['x-request-id'], id);
    }
});

t.test('an invalid request id is replaced', async t => {
  const seen = new Set<string>();
  for (const id of [
    '',
    ' ',
    'x'.repeat(101),
    'a b',
    'ä',
    'a,b',
    '<script>',
    '{"a":1}',
    'a\tb',
    '../x',
    '"',
  ]) {
    const { headers } = await call('GET', '/health/live', 200, { headers: { 'x-request-id': id } });
    t.match(headers['x-request-id'], /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/, id);
    seen.add(headers['x-request-id'] ?? '');
  }
  t.equal(seen.size, 11, 'each time by a different one');
});

t.test('every answer has the security headers, including errors', async t => {
  const { id } = await newUser();
  for (const [method, path, status] of [
    ['GET', '/api/users', 200],
    ['DELETE', `/api/users/${id}`, 204],
    ['POST', '/api/users', 400],
    ['GET', '/nothing', 404],
    ['PUT', '/api/users', 405],
    ['GET', '/api/users/%zz', 400],
    ['GET', '/health/live', 200],
    ['GET', '/docs', 200],
    ['GET', '/', 200],
  ] as const) {
    const { headers } = await call(method, path, status);
    t.match(headers, {
      'content-security-policy': /default-src 'none';.*frame-ancestors 'none'/,
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'cross-origin-resource-policy': 'same-origin',
    });
    for (const name of ['server', 'x-powered-by', 'access-control-allow-origin', 'set-cookie'])
      t.notOk(headers[name], `${path} has no ${name}`);
  }
});

t.test('data is JSON in UTF-8, and an error is JSON', async t => {
  t.equal((await call('GET', '/api/users', 200)).headers['content-type'], 'application/json; charset=utf-8');
  t.equal((await call('GET', '/nothing', 404)).headers['content-type'], 'application/json');
});

t.test('the answer is JSON, whatever the client accepts', async () => {
  for (const accept of ['text/html', 'application/xml', 'image/*', 'nonsense', ''])
    await call('GET', '/api/users', 200, { headers: { accept } });
});
