import t from 'tap';
import { serviceName } from '#schemas/name.ts';
import { bearer, makeKey } from '#test/helper/access.ts';
import { build } from '#test/helper/app.ts';
import { exchange, parse, request } from '#test/helper/http.ts';
import { tending } from '#test/world/tendings.ts';

const { call, newUser, make, database } = await build(t);
const html = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' };

t.test('a client gets JSON with the name, the version, the links and the counts', async t => {
  const user = await newUser();
  await make(tending, { userId: user.id });
  for (const headers of [{}, { accept: '*/*' }, { accept: 'application/json' }] as Record<string, string>[]) {
    const { body } = await call('GET', '/', 200, { headers });
    t.match(body, {
      name: serviceName,
      version: /^\d+\.\d+\.\d+$/,
      counts: { users: 1, burrows: 1, tendings: 1 },
    });
    // The path of GraphQL has a page for browsers only.
    for (const path of Object.values<string>(body.links))
      await call('GET', path, 200, path === '/api/graphql' ? { headers: html } : {});
  }
});

t.test('a browser gets a page with the same facts and links, which runs no script', async t => {
  const { text, headers } = await call('GET', '/', 200, { headers: html });
  t.match(headers, { 'content-type': 'text/html; charset=utf-8', vary: 'accept' });
  t.match(
    headers['content-security-policy'],
    /^default-src 'none'; style-src 'self'; img-src data:; frame-ancestors/,
  );
  t.notMatch(text, /<script|style="|@import|url\(|{{/);
  const { body } = await call('GET', '/', 200);
  t.match(text, '<a href="/api/users">users</a> 1');
  const links = [...text.matchAll(/<a href="([^"]+)"/g)].map(([, path = '']) => path);
  for (const path of links) t.ok(Object.values(body.links).includes(path), path);
});

t.test('where keys are required, a caller who may read gets the counts, as JSON and as a page', async t => {
  const { app } = await build(t, { database, settings: { AUTH_MODE: 'required' } });
  const { authorization } = bearer((await makeKey(database, ['read'])).key);
  const get = async (headers: object) => parse(await exchange(app, request('GET /', { ...headers })));
  const counted = await get({ authorization });
  t.match(counted, { status: 200, body: { counts: { users: 1 } } });
  t.match(counted.headers, { vary: /authorization/, 'cache-control': 'private, no-cache' });
  t.match((await get({ ...html, authorization })).text, '>users</a> 1');
  t.match((await get(html)).text, 'npm run -s keys -- create', 'strangers learn how to get a key');
  for (const credentials of [{}, bearer('nonsense'), { authorization: `${authorization}x` }]) {
    const { status, body } = await get(credentials);
    t.equal(status, 200);
    t.notOk(body.counts);
  }
});

t.test('without a database, both are there, without counts', async t => {
  const { call } = await build(t, { database: { ...database, available: () => false } });
  t.notMatch((await call('GET', '/', 200, { headers: html })).text, 'users</a>');
  t.notOk('counts' in (await call('GET', '/', 200)).body);
});
