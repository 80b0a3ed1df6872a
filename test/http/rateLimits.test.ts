import t, { type Test } from 'tap';
import { trustedProxies } from '#src/config/trustedProxies.ts';
import { build } from '#test/helper/app.ts';
import { openTestDatabase } from '#test/helper/database.ts';

const database = await openTestDatabase(t);

/** An application that allows three requests, and a function that sends one and returns how many remain. */
async function limited(t: Test, TRUST_PROXY = '') {
  t.ok(trustedProxies(TRUST_PROXY) !== undefined);
  const built = await build(t, { database, settings: { RATE_LIMIT_MAX: 3, TRUST_PROXY } });
  async function left(remoteAddress: string, forwarded?: string, url = '/api/users/x') {
    const headers = forwarded === undefined ? {} : { 'x-forwarded-for': forwarded };
    const reply = await built.app.inject({ url, remoteAddress, headers });
    return reply.statusCode === 429 ? 'none' : Number(reply.headers['ratelimit-remaining']);
  }
  return { ...built, left };
}

t.test('a request over the limit gets 429 in the envelope, with the time to retry', async t => {
  const { call } = await limited(t);
  for (const remaining of [2, 1, 0]) {
    const { headers } = await call('GET', '/api/users', 200);
    t.match(headers, { 'ratelimit-limit': '3', 'ratelimit-remaining': String(remaining) });
    t.match(headers['ratelimit-reset'], /^\d+$/);
    t.notOk(headers['retry-after']);
  }
  const { body, headers } = await call('GET', '/api/users', 429);
  t.equal(body.error.message, 'Too many requests.');
  t.match(headers, { 'ratelimit-limit': '3', 'ratelimit-remaining': '0' });
  const wait = Number(headers['retry-after']);
  t.ok(wait > 50 && wait <= 60, `Retry-After is ${wait}`);
  t.same(body.error.details, { code: 'rate_limited', retryAfter: wait });
});

t.test('every request counts once, even an invalid one, and none is answered beyond the limit', async t => {
  const requests = [
    ['GET', '/', 200],
    ['HEAD', '/api/users', 200],
    ['POST', '/api/users', 400],
    ['GET', '/api/users?x', 400],
    ['GET', '/api/users?name=%ff', 400],
    ['GET', '/api/users/x', 404],
    ['GET', '/nothing', 404],
    ['POST', '/nothing', 404],
    ['PUT', '/api/users', 405],
    ['PROPFIND', '/api/users', 405],
    ['OPTIONS', '/api/users', 204],
    ['OPTIONS', '/nothing', 200],
  ] as const;
  const settings = { RATE_LIMIT_MAX: requests.length, CORS_ORIGINS: 'https://app.example.com' };
  const { call } = await build(t, { database, settings });
  const send = ([method, path]: (typeof requests)[number], status: number) =>
    call(
      method,
      path,
      status,
      method === 'POST' ? { raw: '{', headers: { 'content-type': 'application/json' } } : {},
    );
  for (const [i, request] of requests.entries()) {
    const { headers } = await send(request, request[2]);
    t.equal(headers['ratelimit-remaining'], `${requests.length - 1 - i}`, `${request}`);
  }
  for (const request of requests) await send(request, 429);
});

t.test('health and docs do not count, and answer a caller that is over the limit', async t => {
  const { call, left } = await limited(t);
  const free = ['/health/live', '/health/ready', '/docs', '/docs/', '/docs/json', '/docs/yaml'];
  for (let round = 0; round < 5; round++)
    for (const path of free) t.notOk((await call('GET', path, 200)).headers['ratelimit-limit'], path);
  t.equal(await left('127.0.0.1'), 2);
  for (let i = 0; i < 5; i++) await left('127.0.0.1');
  for (const path of free) await call('GET', path, 200);
});

t.test('with one hop the address that the proxy wrote counts, not those before it', async t => {
  const { left } = await limited(t, '1');
  t.equal(await left('10.0.0.1', '198.51.100.1'), 2);
  t.equal(await left('10.0.0.2', '203.0.113.9, 198.51.100.1'), 1);
  t.equal(await left('10.0.0.1', '203.0.113.8, 10.0.0.1, 198.51.100.1'), 0);
  t.equal(await left('10.0.0.1', '198.51.100.2'), 2);
  t.equal(await left('198.51.100.1'), 'none', 'without the header the address of the socket counts');
  const networks = ['2001:db8::1', '2001:db8::2', '2001:db8:0:1::1'];
  for (const [i, address] of networks.entries())
    t.equal(await left('10.0.0.1', address), [2, 1, 2][i], 'an IPv6 /64 network is one client');
});

t.test('with a list of addresses only those proxies are trusted, however many there are', async t => {
  const { left } = await limited(t, '10.0.0.0/8, fd00::/8');
  t.equal(await left('10.0.0.1', '203.0.113.9, 198.51.100.1, 10.2.3.4'), 2);
  t.equal(await left('fd00::1', '198.51.100.1'), 1);
  t.equal(await left('198.51.100.1', '203.0.113.7'), 0, 'an untrusted proxy is itself the caller');
  const { left: without } = await limited(t);
  for (const [i, address] of ['192.0.2.1', '192.0.2.2'].entries())
    t.equal(await without('198.51.100.1', address), 2 - i, 'without TRUST_PROXY none is trusted');
});

t.test('a port that a proxy appends to the address does not make another caller', async t => {
  const { left } = await limited(t, '10.0.0.0/8, fd00::/8');
  const behindThree = '203.0.113.9, 198.51.100.1:1024, 10.2.3.4:80, [fd00::2]:80';
  t.equal(await left('10.0.0.1', behindThree), 2, 'a trusted proxy is recognized with its port');
  t.equal(await left('10.0.0.1', '198.51.100.1'), 1);
});
