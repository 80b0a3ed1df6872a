import t from 'tap';
import { build } from '../helper/app.ts';

const { call, newUser, newPost } = await build(t);
const html = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' };

t.test('a client gets JSON with the name, the version, the links and the counts', async t => {
  const user = await newUser();
  await newPost({ authorId: user.id });
  for (const headers of [{}, { accept: '*/*' }, { accept: 'application/json' }] as Record<string, string>[]) {
    const { body } = await call('GET', '/', 200, { headers });
    t.match(body, { name: 'triport', version: /^\d+\.\d+\.\d+$/, counts: { users: 1, posts: 1 } });
    // The path of GraphQL is a page for browsers only.
    for (const path of Object.values<string>(body.links))
      await call('GET', path, 200, path === '/api/graphql' ? { headers: html } : {});
  }
});

t.test('a browser gets a page with the same facts and links', async t => {
  const { text, headers } = await call('GET', '/', 200, { headers: html });
  t.equal(headers['content-type'], 'text/html; charset=utf-8');
  t.equal(headers.vary, 'accept');
  const { body } = await call('GET', '/', 200);
  t.match(text, body.description);
  t.match(text, /<a href="\/api\/users">users<\/a><\/dt><dd>1<\/dd>/);
  const links = [...text.matchAll(/<a href="([^"]+)"/g)].map(([, path = '']) => path);
  const known = Object.values<string>(body.links);
  for (const path of links) t.ok(known.includes(path), path);
  for (const path of ['/docs', '/api/graphql', '/api/users']) t.ok(links.includes(path), path);
});

t.test('the page runs no script and loads nothing from other hosts', async t => {
  const { text, headers } = await call('GET', '/', 200, { headers: html });
  t.equal(
    headers['content-security-policy'],
    "default-src 'none'; img-src data:; style-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
  );
  t.notMatch(text, /<script|style="|@import|url\(|{{/);
});

t.test('only a Host header that is a host name reaches the page and its commands', async t => {
  const textFor = async (host: string) =>
    (await call('GET', '/', 200, { headers: { ...html, host } })).text.replaceAll('127.0.0.1', 'x');
  for (const host of ['triport.example:8443', '[::1]:3000', 'a-b.example'])
    t.match(await textFor(host), `curl http://${host}/api/users`);
  const usual = await textFor('api.example.com');
  for (const host of ['"><script>alert(1)</script>', 'a;{id,-u};.example', '$(id).example', 'a&b', '`id`'])
    t.equal(await textFor(host), usual.replaceAll('http://', 'https://'), host);
});

t.test('where keys are required, the page says how to get one, and its commands send it', async t => {
  const open = await call('GET', '/', 200, { headers: html });
  t.notMatch(open.text, /KEY/);
  const guarded = await build(t, { settings: { AUTH_MODE: 'required' } });
  const { text } = await guarded.call('GET', '/', 200, { headers: html });
  t.match(text, 'npm run -s keys -- create');
  t.match(text, '/api/users -H "Authorization: Bearer $KEY"');
  t.notMatch(text, '<dd>', 'strangers see no counts');
});
