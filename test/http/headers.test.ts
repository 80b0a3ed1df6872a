import t from 'tap';
import { build } from '#test/helper/app.ts';

const { call, newUser, database } = await build(t);
const page = 'https://app.example';
const preflight = { origin: page, 'access-control-request-method': 'PUT' };

t.test('every answer has a type that no browser guesses at, and says what it may do with a page', async t => {
  const { app } = await build(t, { database, settings: { TRUST_PROXY: '1' } });
  for (const [method, url] of [
    ...['/', '/api/users', '/nowhere', '/docs', '/console', '/health/live', '/api/users/%ZZ'].map(url => [
      'GET',
      url,
    ]),
    ['DELETE', `/api/users/${(await newUser()).id}`],
    ['POST', '/api/users'],
    ['PUT', '/api/users'],
    ['OPTIONS', '/api/users'],
  ] as ['GET', string][]) {
    const { headers } = await app.inject({ method, url, headers: { accept: 'text/html', origin: page } });
    t.match(headers, { 'x-content-type-options': 'nosniff', 'cache-control': 'no-cache' });
    if (/html/.test(headers['content-type'] ?? ''))
      t.match(headers, {
        'content-security-policy': /default-src 'none';.*frame-ancestors 'none'/,
        'referrer-policy': 'no-referrer',
        'cross-origin-opener-policy': 'same-origin',
        'cross-origin-resource-policy': 'same-origin',
      });
    else t.equal(headers['content-security-policy'], undefined, url);
    t.equal(/html/.test(headers['content-type'] ?? ''), ['/', '/docs', '/console'].includes(url));
    t.notOk(headers['strict-transport-security'], 'HSTS is sent over TLS only');
    for (const name of ['server', 'x-powered-by', 'access-control-allow-origin', 'set-cookie'])
      t.notOk(headers[name], `${url} has no ${name}`);
  }
  const { headers } = await app.inject({ url: '/api/users', headers: { 'x-forwarded-proto': 'https' } });
  t.match(headers['strict-transport-security'], /max-age=\d{8}/);
});

t.test('a listed origin may call with a key, but never with cookies', async t => {
  const settings = { CORS_ORIGINS: `https://other.example, ${page}`, AUTH_MODE: 'required' } as const;
  const { app } = await build(t, { database, settings });
  const allowed = await app.inject({ method: 'OPTIONS', url: '/api/users', headers: preflight });
  t.equal(allowed.statusCode, 204);
  t.match(allowed.headers, {
    'access-control-allow-origin': page,
    'access-control-allow-methods': /PUT/,
    'access-control-allow-headers': /Authorization/,
    vary: /origin/i,
  });
  const refused = await app.inject({ url: '/api/users', headers: { origin: page } });
  t.equal(refused.statusCode, 401);
  t.equal(refused.headers['access-control-allow-origin'], page, 'a page can read why it was refused');
  t.match(refused.headers['access-control-expose-headers'], /WWW-Authenticate/);
  const stranger = await app.inject({ url: '/api/users', headers: { origin: 'https://evil.example' } });
  t.notOk(stranger.headers['access-control-allow-origin']);
  const plain = await app.inject({ method: 'OPTIONS', url: '/api/users' });
  t.match([plain.statusCode, plain.headers.allow], [204, /GET/], 'OPTIONS still lists the methods');
  for (const { headers } of [allowed, refused, stranger])
    t.notOk(headers['access-control-allow-credentials']);
});

t.test(
  'a page may send every header that the document names, and read every header of a response',
  async t => {
    const { app, call } = await build(t, { database, settings: { CORS_ORIGINS: page } });
    const { components, paths } = (await app.documentWriter()).swagger() as {
      components?: Components;
      paths?: object;
    };
    const parameters = Object.values(components?.parameters ?? {}).filter(each => each.in === 'header');
    const asked = [...parameters.map(({ name }) => name), 'Authorization', 'Content-Type', 'X-Request-Id'];
    t.ok(asked.length >= 7);
    const listed = (value = '') => value.toLowerCase().split(/, */);
    const { headers } = await call('OPTIONS', '/api/users', 204, {
      headers: { ...preflight, 'access-control-request-headers': asked.join().toLowerCase() },
    });
    for (const name of asked)
      t.ok(listed(headers['access-control-allow-headers']).includes(name.toLowerCase()), name);
    const answer = await call('GET', '/api/users', 200, { headers: { origin: page } });
    const exposed = listed(answer.headers['access-control-expose-headers']);
    const documented = JSON.stringify(paths).matchAll(/"([\w-]+)":\{"\$ref":"#\/components\/headers\//g);
    const names = new Set([...documented].map(([, name = '']) => name));
    t.ok(names.size > 8, `${[...names]} are documented`);
    for (const name of names) t.ok(exposed.includes(name.toLowerCase()), name);
  },
);
interface Components {
  parameters?: Record<string, { name: string; in: string }>;
}

t.test('with * every origin may call, still without cookies', async t => {
  const { app } = await build(t, { database, settings: { CORS_ORIGINS: '*' } });
  const { headers } = await app.inject({ url: '/api/users', headers: { origin: page } });
  t.equal(headers['access-control-allow-origin'], '*');
  t.notOk(headers['access-control-allow-credentials']);
});

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

t.test('the answer is JSON in UTF-8, whatever the client accepts', async t => {
  for (const accept of ['text/html', 'application/xml', 'image/*', 'nonsense', '']) {
    const { headers } = await call('GET', '/api/users', 200, { headers: { accept } });
    t.equal(headers['content-type'], 'application/json; charset=utf-8');
  }
});
