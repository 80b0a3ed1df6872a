import t from 'tap';
import { build } from '../helper/app.ts';

const { call } = await build(t);

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
  const invalid = ['', ' ', 'x'.repeat(101), 'a b', 'ä', 'a,b', '<script>', '{"a":1}', 'a\tb', '../x', '"'];
  for (const id of invalid) {
    const { headers } = await call('GET', '/health/live', 200, { headers: { 'x-request-id': id } });
    t.match(headers['x-request-id'], /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/, id);
    seen.add(headers['x-request-id'] ?? '');
  }
  t.equal(seen.size, invalid.length, 'each time by a different one');
});

t.test('data is JSON in UTF-8, and an error is JSON', async t => {
  t.equal((await call('GET', '/api/users', 200)).headers['content-type'], 'application/json; charset=utf-8');
  t.equal((await call('GET', '/nothing', 404)).headers['content-type'], 'application/json');
});

t.test('the answer is JSON, whatever the client accepts', async () => {
  for (const accept of ['text/html', 'application/xml', 'image/*', 'nonsense', ''])
    await call('GET', '/api/users', 200, { headers: { accept } });
});
