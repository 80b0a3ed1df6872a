import { fastify } from 'fastify';
import t from 'tap';
import { sendRecord } from '#plugins/rest/replies.ts';
import { bearer, makeKey } from '#test/helper/access.ts';
import { build } from '#test/helper/app.ts';

const { call, newUser } = await build(t);
const reads = ['GET', 'HEAD'];
const [M, N] = ['If-Match', 'If-None-Match'] as const;

t.test('13.1: a list has a weak tag, of its bytes', async t => {
  const { id } = await newUser();
  for (const path of [
    '/api/users?limit=2',
    '/api/burrows?after=',
    '/api/subscriptions',
    '/api/audit',
    '/api/keys',
  ]) {
    const { headers, text } = await call('GET', path, 200);
    const { etag = '', link } = headers;
    t.match(etag, /^W\/"\w+-\d+"$/);
    for (const method of reads) {
      for (const value of [etag, etag.slice(2), `"x", ${etag}`, '*']) {
        const known = await call(method, path, 304, { headers: { [N]: value } });
        t.equal(known.text, '');
        t.match(known.headers, { etag, link, 'cache-control': 'no-cache' });
      }
      t.equal((await call(method, path, 200, { headers: { [N]: '"x"', [M]: '*' } })).headers.etag, etag);
      for (const value of [etag, etag.slice(2), '"1"'])
        await call(method, path, 412, { headers: { [M]: value } });
    }
    t.equal((await call('GET', path, 200, { headers: { [N]: '"x"' } })).text, text);
    const { error } = (await call('GET', path, 412, { headers: { [M]: etag } })).body;
    t.match(error, { message: /^If-Match /, details: { code: 'version_mismatch', version: undefined } });
    await call('GET', path, 400, { headers: { [N]: '' } });
  }
  const { etag = '' } = (await call('GET', '/api/users?limit=2', 200)).headers;
  await call('PATCH', `/api/users/${id}`, 200, { body: { name: 'Another' } });
  await call('GET', '/api/users?limit=2', 200, { headers: { [N]: etag } });
});

t.test('a 304 has the headers that caches keep, the same as the 200', async t => {
  const settings = { AUTH_MODE: 'required', CORS_ORIGINS: 'https://app.example' } as const;
  const { call, database } = await build(t, { settings });
  const headers = { ...bearer((await makeKey(database, ['write'])).key), origin: 'https://app.example' };
  const body = { name: 'Ada', email: 'ada@example.com' };
  const { location = '' } = (await call('POST', '/api/users', 201, { headers, body })).headers;
  for (const path of [location, '/api/users'])
    for (const method of reads) {
      const { headers: full } = await call(method, path, 200, { headers });
      const known = await call(method, path, 304, { headers: { ...headers, [N]: full.etag ?? '' } });
      t.match(full, { etag: String, vary: /origin.*authorization/i, 'cache-control': 'private, no-cache' });
      for (const name of ['etag', 'vary', 'cache-control', 'link'])
        t.equal(known.headers[name], full[name], `${method} ${path} ${name}`);
    }
});

t.test('a record that the client has is not serialized', async t => {
  const events: string[] = [];
  const app = fastify().setSerializerCompiler(() => () => {
    events.push('serialized');
    return '{}';
  });
  app.get('/', { schema: { response: { 200: {} } } }, (_, reply) => sendRecord(reply, { version: 2 }));
  app.addHook('onSend', async ({ headers }) => void events.push(`sent to ${headers['if-none-match']}`));
  for (const value of ['"1"', '"2"']) await app.inject({ url: '/', headers: { [N]: value } });
  t.same(events, ['serialized', 'sent to "1"', 'sent to "2"']);
});
