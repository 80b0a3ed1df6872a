import t from 'tap';
import { serviceName } from '#schemas/name.ts';
import { bearer, makeKey } from '#test/helper/access.ts';
import { build } from '#test/helper/app.ts';
import { exchange, parse, request } from '#test/helper/http.ts';
import { domain } from '#test/world/index.ts';
import { tending } from '#test/world/tendings.ts';

const { call, newUser, make, database } = await build(t);
/** The commands and the query that the page offers to copy. */
const examplesIn = (text: string) =>
  [...text.matchAll(/<pre><code>([\s\S]*?)<\/code>/g)].map(([, code = '']) =>
    code.replaceAll(/&#(\d+);/g, (_, number) => String.fromCharCode(number)),
  );
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

t.test('a browser gets a page with the same counts, the pages, and examples that work', async t => {
  const { text } = await call('GET', '/', 200, { headers: html });
  const { body } = await call('GET', '/', 200);
  for (const { path, plural } of domain.followed)
    t.match(text, new RegExp(`href="/console#/${path}"[^>]*><b>${body.counts[plural]}</b>`));
  const links = [...text.matchAll(/<a href="([^"]+)"/g)].map(([, path = '']) => path);
  for (const { path } of domain.pages) t.ok(links.includes(path), path);
  const [create, query, send] = examplesIn(text);
  t.match(create, /^curl http:\/\/localhost[:\d]*\/api\/users \\\n/);
  const [, json = ''] = create?.split("-d '") ?? [];
  await call('POST', '/api/users', 201, { body: JSON.parse(json.slice(0, -1)) });
  const { data, errors } = (await call('POST', '/api/graphql', 200, { body: { query } })).body;
  t.ok(data && !errors, String(query));
  t.match(send, /^npm run -s webhook -- send \\\n +payment_intent.succeeded /);
});

t.test('a name of the host that a shell would run is not in the examples', async t => {
  for (const host of ['a;reboot', '$(reboot)', "it's"]) {
    const { text } = await call('GET', '/', 200, { headers: { ...html, host } });
    t.notMatch(text, /reboot|it&#39;s/);
    t.match(examplesIn(text)[0], /^curl http:\/\/localhost:\d+\/api/);
  }
});

t.test('without its tool, GraphQL has no link to it', async t => {
  const { call } = await build(t, { database, settings: { GRAPHQL_INTROSPECTION: 'off' } });
  t.match((await call('GET', '/', 200, { headers: html })).text, '/api/graphql');
  t.notMatch((await call('GET', '/', 200, { headers: html })).text, 'GraphiQL');
});

t.test('where keys are required, a caller who may read gets the counts, as JSON and as a page', async t => {
  const { app } = await build(t, { database, settings: { AUTH_MODE: 'required' } });
  const { authorization } = bearer((await makeKey(database, ['read'])).key);
  const get = async (headers: object) => parse(await exchange(app, request('GET /', { ...headers })));
  const counted = await get({ authorization });
  t.match(counted, { status: 200, body: { counts: { users: 2, subscriptions: 0 } } });
  t.match(counted.headers, { vary: /authorization/, 'cache-control': 'private, no-cache' });
  const page = await get({ ...html, authorization });
  t.match(page.text, /#\/users"[^>]*><b>2</);
  t.notMatch(page.text, /Postgres|started at/, 'who operates it is an admin');
  const { text } = await get(html);
  t.match(text, 'npm run -s keys -- create', 'strangers learn how to get a key');
  t.match(text, 'Authorization: Bearer $API_KEY');
  t.notMatch(
    text,
    /<b>\d|Postgres|started at|npm run new|docs\/(running-many|add-a-resource)/,
    'and nothing else',
  );
  for (const credentials of [{}, bearer('nonsense'), { authorization: `${authorization}x` }]) {
    const { status, body } = await get(credentials);
    t.equal(status, 200);
    t.notOk(body.counts);
  }
});

t.test('without a database, both are there, without counts', async t => {
  const { call } = await build(t, { database: { ...database, available: () => false } });
  const { text } = await call('GET', '/', 200, { headers: html });
  t.match(text, /waits for its database[\s\S]*when the database is back/);
  t.notMatch(text, /<b>\d/);
  t.notOk('counts' in (await call('GET', '/', 200)).body);
});
