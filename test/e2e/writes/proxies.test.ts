import t, { type Test } from 'tap';
import { openCache } from '../../rig/cache.ts';
import { type Answer, ask, json } from '../../rig/cluster/ask.ts';
import { Balancer, type BalancerKind } from '../../rig/cluster/balancer.ts';
import { has } from '../../rig/openCluster.ts';
import { closeGate, countPosts, createPost, freeze, type Pair, startPair } from '../../rig/pair.ts';
import { freePort, makeFolder, runCommand, startService, until } from '../../rig/process.ts';

t.setTimeout(180_000);

const patch = (value: object, headers = {}) => ({ ...json(value, headers), method: 'PATCH' });

/** A balancer with the configuration that the project ships, in front of a pair. */
async function openBalancer(t: Test, kind: BalancerKind, { servers: [first, second] }: Pair) {
  const port = await freePort();
  // It has three servers.
  const servers = [first.port, second.port, first.port];
  const balancer = new Balancer({ kind, folder: makeFolder(t), port, servers });
  t.teardown(() => balancer.stop());
  await balancer.start();
  return { url: `http://127.0.0.1:${port}` };
}

const gzip = { 'accept-encoding': 'gzip, br' };

for (const kind of ['nginx', 'haproxy'] as const)
  t.test(`behind ${kind}`, { skip: !has(kind) && `${kind} is not installed` }, async t => {
    const pair = await startPair(t, { TRUST_PROXY: '127.0.0.1' });
    const balancer = await openBalancer(t, kind, pair);
    const create = (key: string, title: string) => createPost(balancer, pair, key, title);

    await t.test('a creation is replayed by every server', async t => {
      const first = await create('one', 'Once');
      t.match(first, { status: 201, headers: { 'idempotency-replayed': undefined, etag: '"1"' } });
      for (let i = 0; i < 8; i++) {
        const again = await create('one', 'Once');
        t.match(again, { status: 201, headers: { 'idempotency-replayed': 'true' } });
        t.equal(again.text, first.text);
        t.equal(again.headers.location, first.headers.location);
        t.equal(again.headers.etag, first.headers.etag);
      }
      for (const { lines } of pair.servers)
        t.ok(
          lines.filter(line => 'path' in line && line.path === '/api/posts').length >= 2,
          'each took part',
        );
      t.match(await create('one', 'Another'), { status: 422 }, 'the key is bound to its request');
      t.same(await countPosts(pair, 'Once'), { posts: 1, entries: 1 });
    });

    await t.test('tags stay strong, and conditions arrive', async t => {
      // Long enough to be worth compressing.
      const title = '二度'.repeat(240);
      const created = await ask(
        `${balancer.url}/api/posts`,
        json({ title, authorId: pair.authorId }, { ...gzip }),
      );
      t.match(created, { status: 201, headers: { etag: '"1"', 'content-encoding': undefined } });
      const url = `${balancer.url}${created.headers.location}`;
      for (const method of ['GET', 'HEAD']) {
        const whole = await ask(url, { method, headers: gzip });
        t.match(whole, { status: 200, headers: { etag: '"1"', 'content-encoding': undefined } });
        t.equal(whole.text === '', method === 'HEAD');
        const known = await ask(url, { method, headers: { ...gzip, 'if-none-match': 'W/"7", "1"' } });
        t.match(known, { status: 304, headers: { etag: '"1"' }, text: /^$/ });
        const excluded = await ask(url, { method, headers: { 'if-none-match': '"2"' } });
        t.match(excluded, { status: 200, headers: { etag: '"1"' } });
      }
      const changed = await ask(url, patch({ status: 'published' }, { ...gzip, 'if-match': '"1"' }));
      t.match(changed, { status: 200, headers: { etag: '"2"', 'content-encoding': undefined } });
      const late = await ask(url, patch({ status: 'draft' }, { 'if-match': '"1"' }));
      t.match(late, { status: 412, headers: { etag: '"2"' }, text: '"code":"version_mismatch","version":2' });
      t.match(await ask(url, patch({ title: '3' }, { 'if-match': 'W/"2"' })), { status: 412 });
      const brief = await ask(
        url,
        patch({ title: '3' }, { 'if-match': '"1", "2"', prefer: 'return=minimal' }),
      );
      t.match(brief, { status: 204, headers: { etag: '"3"', 'preference-applied': 'return=minimal' } });
      t.match(await ask(url, { method: 'DELETE', headers: { 'if-match': '"2"' } }), { status: 412 });
      t.match(await ask(url, { method: 'DELETE', headers: { 'if-match': '"3"' } }), { status: 204 });
    });

    await t.test(
      'lists and pages are compressed, and are not sent again while they are unchanged',
      async t => {
        for (let i = 0; i < 20; i++) await create(`list-${i}`, `A title that repeats itself ${i}`);
        const assets = (await ask(`${balancer.url}/docs`)).text.matchAll(
          /(?:src|href)="(\/[^"]+\.(?:js|css))"/g,
        );
        const scripts = [...assets].map(([, path = '']) => path).filter(path => /bundle|ui\.css/.test(path));
        t.ok(scripts.length >= 2, `${scripts}`);
        const query = '/api/graphql?query={posts{title,status,id}}';
        for (const path of ['/api/posts', query, '/docs/json', '/docs/yaml', ...scripts]) {
          const plain = await ask(balancer.url + path);
          t.match(
            plain,
            { status: 200, headers: { 'content-encoding': undefined, vary: /accept-encoding/i } },
            path,
          );
          const small = await ask(balancer.url + path, { headers: gzip });
          t.match(small, { status: 200, headers: { 'content-encoding': 'gzip' } }, path);
          t.equal(small.headers.vary?.match(/accept-encoding/gi)?.length, 1, 'Vary names it once');
          t.equal(small.text, plain.text);
          t.ok(small.size < plain.size / 2, `${path}: ${plain.size} bytes became ${small.size}`);
          const { etag: tag } = small.headers;
          if (tag === undefined) continue;
          t.match(tag, /^W\//, path);
          const known = await ask(balancer.url + path, { headers: { ...gzip, 'if-none-match': tag } });
          t.match(known, { status: 304, headers: { etag: tag, vary: /accept-encoding/i }, size: 0 }, path);
        }
      },
    );

    await t.test('after kill -9 between commit and answer, the same request gets the answer', async t => {
      const gate = await closeGate(t, pair, 'its commit');
      const sent = create('three', 'Held');
      await gate.reached();
      // Both, because either may have the request.
      await Promise.all(pair.servers.map(freeze));
      await gate.open();
      await until('it is committed', async () => (await countPosts(pair, 'Held'))?.posts === 1);
      await Promise.all(pair.servers.map(server => server.kill()));
      t.match(await sent, { status: 503, headers: { 'retry-after': '1' }, text: '"code":"unavailable"' });

      await startService(t, { ...pair.settings, PORT: String(pair.servers[0].port) });
      let answer = await create('three', 'Held');
      await until('it is answered', async () => {
        if (answer.status === 503) answer = await create('three', 'Held');
        return answer.status !== 503;
      });
      t.match(answer, { status: 201, headers: { 'idempotency-replayed': 'true', etag: '"1"' } });
      t.same(await countPosts(pair, 'Held'), { posts: 1, entries: 1 });
    });
  });

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
    for (let version = 2; version <= 21; version++) {
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
    t.same(titles(changed), ['Another', 'Version 21']);
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
