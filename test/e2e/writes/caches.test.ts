import t from 'tap';
import { type Answer, ask, json } from '../../rig/cluster/ask.ts';
import { has } from '../../rig/openCluster.ts';
import { createPost, startPair } from '../../rig/pair.ts';
import { runCommand } from '../../rig/process.ts';
import { openCache } from '../../rig/servers/cache.ts';

t.setTimeout(180_000);

const patch = (value: object, headers = {}) => ({ ...json(value, headers), method: 'PATCH' });
const skip = !has('nginx') && 'nginx is not installed';
const stateOf = ({ headers }: Answer) => `${headers['x-cache-status']} ${headers['x-upstream-status']}`;

t.test('behind a shared cache, an open service', { skip }, async t => {
  const pair = await startPair(t);
  const [server, other] = pair.servers;
  const cache = await openCache(t, server, 'strict');
  const { headers } = await createPost(cache, pair, 'key', 'Version 1');
  const path = String(headers.location);
  const url = `${cache.url}${path}`;

  await t.test('a record is kept, and the service says whether it is current', async t => {
    const first = await ask(url);
    t.match(first, { status: 200, headers: { etag: '"1"' } });
    t.equal(stateOf(first), 'MISS 200');
    for (const [method, sent, status] of [
      ['GET', {}, 200],
      ['HEAD', {}, 200],
      ['GET', { 'if-none-match': '"1"' }, 304],
      ['HEAD', { 'if-none-match': '"1"' }, 304],
      ['GET', { 'if-none-match': '"2"' }, 200],
    ] as const) {
      const answer = await ask(url, { method, headers: sent });
      t.match(answer, { status, headers: { etag: '"1"' } });
      t.equal(stateOf(answer), 'REVALIDATED 304', 'of which no byte was sent again');
      t.equal(answer.text, method === 'GET' && status === 200 ? first.text : '');
    }
  });

  await t.test('a changed record is never stale, also when it was changed on the other server', async t => {
    for (let version = 2; version <= 9; version++) {
      const way = version % 2 ? url : `${other.url}${path}`;
      const { status } = await ask(
        way,
        patch({ title: `Version ${version}` }, { 'if-match': `"${version - 1}"` }),
      );
      t.equal(status, 200);
      const sent = { 'if-none-match': `"${version - 1}"` };
      const method = version % 3 ? 'GET' : 'HEAD';
      const answers = [await ask(url, { method, headers: sent }), await ask(url)];
      t.same(answers.map(stateOf), ['EXPIRED 200', 'REVALIDATED 304']);
      for (const answer of answers) t.match(answer, { status: 200, headers: { etag: `"${version}"` } });
      t.match(JSON.parse(answers[1]?.text ?? ''), { version, title: `Version ${version}` });
    }
  });

  await t.test('a list is kept as well', async t => {
    const list = () => ask(`${cache.url}/api/posts?sort=title`);
    const titles = ({ text }: Answer) => JSON.parse(text).data.map(({ title }: { title: string }) => title);
    t.equal(stateOf(await list()), 'MISS 200');
    t.equal(stateOf(await list()), 'REVALIDATED 304');
    await createPost(other, pair, 'list', 'Another');
    const changed = await list();
    t.equal(stateOf(changed), 'EXPIRED 200');
    t.same(titles(changed), ['Another', 'Version 9']);
  });

  await t.test('what is not there yet is found later', async t => {
    const subscription = () => ask(`${cache.url}/api/subscriptions/cus_1`);
    t.match(await subscription(), { status: 404 });
    t.match(await subscription(), { status: 404 });
    await pair.query(
      `insert into subscriptions values (gen_random_uuid(), 'cus_1', 'stripe', 'active', now(), now(), now())`,
    );
    t.match(await subscription(), { status: 200, text: '"status":"active"' });
  });

  await t.test('a query by GET is never stale', async t => {
    const query = encodeURIComponent(`{ user(id: "${pair.authorId}") { name } }`);
    for (const name of ['Grace', 'Lise', 'Emmy']) {
      t.match(await ask(`${other.url}/api/users/${pair.authorId}`, patch({ name })), { status: 200 });
      const { text } = await ask(`${cache.url}/api/graphql?query=${query}`);
      t.same(JSON.parse(text), { data: { user: { name } } });
    }
  });

  await t.test('a deleted record is gone', async t => {
    t.match(await ask(`${other.url}${path}`, { method: 'DELETE' }), { status: 204 });
    for (const method of ['GET', 'HEAD', 'GET']) t.match(await ask(url, { method }), { status: 404 });
  });
});

t.test('behind a shared cache, a service with access control', { skip }, async t => {
  const pair = await startPair(t, { AUTH_MODE: 'required' });
  const env = { DATABASE_URL: pair.databaseUrl };
  const scopes = { ada: 'read,write', ben: 'read', root: 'admin' };
  const keys = await Promise.all(
    Object.entries(scopes).map(async ([name, scopes]) => {
      const { out } = await runCommand(
        'scripts/keys.ts',
        ['create', '--name', name, '--scopes', scopes],
        env,
      );
      return [name, `Bearer ${out.trim()}`];
    }),
  );
  const credentials: Record<string, string> = { ...Object.fromEntries(keys), stranger: 'Bearer of-nothing' };
  const expected = {
    [`/api/users/${pair.authorId}`]: { root: 200, ada: 200, nobody: 401, ben: 200, stranger: 401 },
    '/api/keys': { root: 200, ada: 403, nobody: 401, ben: 403, stranger: 401 },
  };
  let number = 0;

  for (const kind of ['strict', 'careless'] as const)
    t.test(`nobody gets the answer to another (${kind})`, async t => {
      const cache = await openCache(t, pair.servers[0], kind);
      for (const [path, statuses] of Object.entries(expected)) {
        /** The ids of the requests whose answers the cache has. */
        const kept = new Map<string, string>();
        for (const method of ['GET', 'HEAD', 'GET', 'HEAD'])
          for (const [who, status] of Object.entries(statuses)) {
            const id = `${who}-${++number}`;
            const authorization = credentials[who];
            const headers = { 'x-request-id': id, ...(authorization && { authorization }) };
            const answer = await ask(`${cache.url}${path}`, { method, headers });
            t.equal(answer.status, status, `${method} ${path} by ${who}`);
            t.equal(answer.text.includes('"createdAt"'), method === 'GET' && status === 200);
            const isKept = answer.headers['x-cache-status'] === 'HIT';
            t.equal(answer.headers['x-request-id'], isKept ? kept.get(who) : id, 'the own answer');
            t.equal(isKept, kind === 'careless' && kept.has(who), 'kept only where Cache-Control is ignored');
            if (!isKept) kept.set(who, id);
          }
      }
    });
});
