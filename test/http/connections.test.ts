// runs: long
import { once } from 'node:events';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { gunzipSync } from 'node:zlib';
import t, { type Test } from 'tap';
import { bearer, makeKey } from '#test/helper/access.ts';
import { build } from '#test/helper/app.ts';
import { hold } from '#test/helper/database.ts';
import { exchange, parse, request } from '#test/helper/http.ts';
import { until } from '#test/rig/process.ts';

type App = Awaited<ReturnType<typeof build>>['app'];

/** A client that reads nothing until it is told to, and what the server knows of its connection. */
async function silentClient(t: Test, app: App) {
  if (!app.server.listening) await app.listen({ port: 0, host: '127.0.0.1' });
  const accepted = once(app.server, 'connection') as Promise<[Socket]>;
  const client = connect((app.server.address() as AddressInfo).port, '127.0.0.1').pause();
  t.teardown(() => client.destroy());
  client.on('error', () => {});
  const [server] = await accepted;
  let bytes = 0;
  const read = async (until: number) => {
    client.on('data', ({ length }) => (bytes += length)).resume();
    while (bytes < until && !client.destroyed) await sleep(20);
    return bytes;
  };
  return { client, server, read };
}
const ahead = (path: string, count: number, headers = '') =>
  `GET ${path} HTTP/1.1\r\nhost: x\r\n${headers}\r\n`.repeat(count);

/** The paths of the files of all pages. */
async function pageFiles({ app }: { app: App }) {
  const pages = ['/', '/docs', '/console', '/api/graphql'].map(url =>
    app.inject({ url, headers: { accept: 'text/html' } }),
  );
  const paths = (await Promise.all(pages)).flatMap(({ body }) => [
    ...body.matchAll(/(?:href|src)="(\/[^"]+\.(?:css|js))"/g),
  ]);
  return [...new Set(paths.map(([, path = '']) => path))];
}

t.test('20 requests that are not answered may wait on a connection, and the next one closes it', async t => {
  const { app, database, newUser } = await build(t);
  await newUser();
  for (const count of [20, 21]) {
    const release = await hold(database, tx => tx.rows('lock table users in access exclusive mode', []));
    const { client, server, read } = await silentClient(t, app);
    client.write(ahead('/api/users', count));
    if (count > 20) {
      await until('it is closed', () => server.destroyed);
      t.equal(await read(1), 0, 'none is answered');
      await until('nothing is in flight any more', () => app.pressure.inFlight === 0);
      await release();
      continue;
    }
    await until('all are begun', () => app.pressure.inFlight === 20);
    await release();
    await until('all are answered', () => app.pressure.inFlight === 0);
    let text = '';
    client.on('data', data => (text += data)).resume();
    for (let round = 1; round <= 3; round++) {
      if (round > 1) client.write(ahead('/api/users', 20));
      await until('all answers are here', () => text.split('HTTP/1.1 200').length - 1 === round * 20);
    }
  }
});

t.test('of thousands of requests that are sent ahead, those behind the limit are not begun', async t => {
  const { app } = await build(t);
  const begun: boolean[] = [];
  app.server.on('request', ({ destroyed }) => begun.push(!destroyed));
  const { stackTraceLimit } = Error;
  const { client, server } = await silentClient(t, app);
  client.write(ahead('/', 2000));
  await until('it is closed', () => server.closed);
  t.ok(begun.length > 1000, `${begun.length} came in one read`);
  t.equal(begun.filter(Boolean).length, 21);
  t.equal(Error.stackTraceLimit, stackTraceLimit);
});

t.test(
  'a client that reads nothing holds no copies of files, and of its account only it is closed',
  async t => {
    const { app } = await build(t, { settings: { TRUST_PROXY: '127.0.0.1' } });
    const files = await pageFiles({ app });
    const sizes = await Promise.all(
      files.map(async path => ({ path, size: (await app.inject(path)).rawPayload.length })),
    );
    const { path, size } = sizes.reduce((a, b) => (a.size > b.size ? a : b));
    t.ok(size > 3_000_000, `${path} has ${size} bytes`);
    const before = process.memoryUsage().arrayBuffers;
    const from = (address: string) => `x-forwarded-for: ${address}\r\n`;
    const [greedy, modest, other] = [
      await silentClient(t, app),
      await silentClient(t, app),
      await silentClient(t, app),
    ];
    modest.client.write(ahead(path, 3, from('192.0.2.1')));
    other.client.write(ahead(path, 3, from('192.0.2.2')));
    await sleep(600);
    t.notOk(modest.server.destroyed);
    greedy.client.write(ahead(path, 20, from('192.0.2.1')));
    await until('the one with the most is closed', () => greedy.server.destroyed);
    t.ok(process.memoryUsage().arrayBuffers - before < 10_000_000, 'all wait for the same bytes');
    await sleep(600);
    t.same([modest.server.destroyed, other.server.destroyed], [false, false]);
    for (const { read } of [modest, other]) t.ok((await read(3 * size)) > 3 * size, 'they get all of it');
    t.equal((await app.inject(path)).statusCode, 200);
  },
);

t.test('an account has a quarter of MAX_IN_FLIGHT, and beyond it only that one is refused', async t => {
  const { app, database } = await build(t, { settings: { MAX_IN_FLIGHT: 8 } });
  const release = await hold(database, tx => tx.rows('lock table users in access exclusive mode', []));
  const get = (remoteAddress: string, url = '/api/users') => app.inject({ url, remoteAddress });
  const waiting = [get('192.0.2.1'), get('192.0.2.1'), get('192.0.2.2')];
  await until('three are in flight', () => app.pressure.inFlight === 3);
  const refused = await get('192.0.2.1', '/api/burrows');
  t.match(refused, { statusCode: 503, headers: { 'retry-after': '1' } });
  t.match(refused.json(), { error: { status: 503, details: { code: 'overloaded' } } });
  await release();
  for (const reply of await Promise.all(waiting)) t.equal(reply.statusCode, 200);
  for (let i = 0; i < 5; i++) t.equal((await get('192.0.2.1')).statusCode, 200, 'its share is free again');
});

const statusesIn = (text: string) => [...text.matchAll(/HTTP\/1.1 (\d+)/g)].map(([, status]) => status);

t.test('a 429 ends the connection, but not that of a trusted proxy', async t => {
  const pipelined = (headers: object = {}) =>
    ['/x', '/x', '/x', '/x'].map(path => request(`GET ${path}`, { Connection: 'keep-alive', ...headers }));
  const { app } = await build(t, { settings: { RATE_LIMIT_MAX: 1 } });
  const start = performance.now();
  const direct = await exchange(app, ...pipelined());
  t.ok(performance.now() - start < 2500, 'it is closed, and does not become idle');
  t.same(statusesIn(direct), ['404', '429']);
  t.match(parse(direct.slice(direct.indexOf('HTTP/1.1 429'))), { headers: { connection: 'close' } });

  const { app: behind } = await build(t, { settings: { RATE_LIMIT_MAX: 1, TRUST_PROXY: '127.0.0.1' } });
  const shared = await exchange(behind, ...pipelined({ 'X-Forwarded-For': '192.0.2.1' }));
  t.same(statusesIn(shared), ['404', '429', '429', '429']);
  t.notMatch(shared.toLowerCase(), /connection: close/);
});

t.test('files of pages count for the address, whoever asks, and the pages do not', async t => {
  const built = await build(t, { settings: { AUTH_MODE: 'required', RATE_LIMIT_MAX: 10 } });
  const { app, database } = built;
  const headers = bearer((await makeKey(database, ['read'])).key);
  const [path = ''] = await pageFiles(built);
  const get = async (url: string, headers = {}) => {
    const reply = await app.inject({ url, headers, remoteAddress: '192.0.2.1' });
    return [reply.statusCode, reply.headers['ratelimit-remaining']];
  };
  const { etag } = (await app.inject(path)).headers;
  t.same(await get(path), [200, '9']);
  t.same(await get(path, headers), [200, '8'], 'with a key too');
  t.same(await get(path, { 'if-none-match': `${etag}` }), [304, '7'], 'a 304 too');
  t.same(await get('/api/burrows', headers), [200, '9'], 'the key has its own');
  for (const page of ['/docs', '/docs/', '/docs/json', '/docs/yaml'])
    t.same(await get(page), [200, undefined], page);
  for (let i = 0; i < 7; i++) await get(path);
  t.same(await get(path, headers), [429, '0']);
  t.same(await get('/docs'), [200, undefined]);
  t.same(await get('/api/burrows', headers), [200, '8']);
});

t.test('a file of a page has the same bytes with and without gzip, each time', async t => {
  const built = await build(t);
  const files = await pageFiles(built);
  t.ok(files.length > 10, `${files}`);
  for (const path of [...files, '/docs/json', '/docs/yaml'])
    for (let round = 0; round < 2; round++) {
      const plain = await built.app.inject(path);
      t.match(plain, {
        statusCode: 200,
        headers: { vary: /accept-encoding/, 'content-encoding': undefined },
      });
      const packed = await built.app.inject({ url: path, headers: { 'accept-encoding': 'br, gzip' } });
      t.match(packed.headers, {
        'content-encoding': 'gzip',
        'content-length': `${packed.rawPayload.length}`,
        etag: plain.headers.etag,
      });
      t.ok(gunzipSync(packed.rawPayload).equals(plain.rawPayload), path);
      const known = await built.app.inject({
        url: path,
        headers: { 'if-none-match': `${plain.headers.etag}` },
      });
      t.same([known.statusCode, known.body], [304, '']);
    }
});
