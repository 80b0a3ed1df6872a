import t from 'tap';
import { build } from '../helper/app.ts';

const html = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' };

t.test('a browser gets the tool at the same path, and all of it from this server', async t => {
  const { app, call } = await build(t);
  const page = await call('GET', '/api/graphql', 200, { headers: html });
  t.match(page.headers, { 'content-type': 'text/html; charset=utf-8', vary: 'accept' });
  t.notMatch(page.text, /https?:/);
  const policy = page.headers['content-security-policy'] ?? '';
  t.match(policy, /default-src 'none'; script-src 'self';/);
  t.notMatch(policy, /https?:|unsafe-eval|script-src[^;]*unsafe-inline/);

  const parts = [...page.text.matchAll(/(?:src|href)="(\/[^"]+)"/g)].map(([, path = '']) => path);
  t.equal(parts.length, 9);
  for (const path of parts) {
    const { statusCode, headers } = await app.inject({
      url: path,
      headers: { 'accept-encoding': 'gzip, br' },
    });
    t.equal(statusCode, 200, path);
    t.match(headers, {
      'content-encoding': 'gzip',
      'content-type': path.endsWith('.css') ? /css/ : /javascript/,
      'cache-control': 'public, max-age=31536000, immutable',
    });
    const plain = await app.inject({
      url: path.replace(/\/\w+\/([\w.-]+)$/, '/of-another-release/$1'),
      headers: { 'accept-encoding': 'gzip;q=0, br' },
    });
    t.equal(plain.statusCode, 200);
    t.equal(plain.headers['content-encoding'], undefined);
    t.match(plain.headers, { 'cache-control': 'no-cache', vary: 'accept-encoding' });
  }
});

t.test('a query from a browser is executed, and a client without a query gets an error', async t => {
  const { call } = await build(t);
  const answer = await call('GET', '/api/graphql?query={usersCount}', 200, { headers: html });
  t.same(answer.body, { data: { usersCount: 0 } });
  await call('GET', '/api/graphql', 400, { headers: { accept: '*/*' } });
});

t.test('without introspection there is no tool', async t => {
  const { app, call } = await build(t, { settings: { GRAPHQL_INTROSPECTION: 'off' } });
  await call('GET', '/api/graphql', 400, { headers: html });
  t.equal((await app.inject('/api/graphql/tool/x/graphiql.js')).statusCode, 404);
});
