import { chmodSync, writeFileSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import { type AddressInfo, createServer as createSocketServer } from 'node:net';
import { join } from 'node:path';
import { exportJWK, generateKeyPair } from 'jose';
import t, { type Test } from 'tap';
import { fill, makeDisk } from '../../rig/disk.ts';
import { clockAhead, examine, expectFinding, preloaded } from '../../rig/doctor.ts';
import { makeFolder, runCommand, startService } from '../../rig/process.ts';
import { freePort } from '../../rig/servers/ports.ts';
import { hasRedis, refusals, startRedis } from '../../rig/servers/redis.ts';

t.setTimeout(240_000);
const skip = !hasRedis && 'redis-server is not installed';

t.test('before the first start all is well, and nothing is created', async t => {
  const folder = makeFolder(t);
  const { code, out } = await runCommand('scripts/doctor.ts', [], { PORT: '0' }, folder);
  t.equal(code, 0);
  t.match(out, /^ok {6} The settings are valid[\s\S]*\n\n8 ok, 0 warnings, 0 problems\n$/);
  t.notOk(out.includes('\x1b'), 'no colours outside a terminal');
  const { out: json } = await runCommand('scripts/doctor.ts', ['--json'], { PORT: '0' }, folder);
  t.equal(JSON.parse(json).length, 8);
});

t.test('settings that contradict each other, or are misspelt, are problems', async t => {
  const { code, unwell } = await examine(t, { AUTH_ISSUER: 'x', AUTHMODE: 'open', OTEL_TRACES_EXPORTER: '' });
  t.equal(code, 1);
  t.match(unwell, [/^problem: AUTHMODE is not a setting/, /^problem: AUTH_ISSUER has no effect/]);
});

t.test('another Node, and a driver without its patches', async t => {
  const otherNode = preloaded(t, `Object.defineProperty(process, 'version', { value: 'v22.1.0' });`);
  await expectFinding(t, otherNode, /^warning: Node is v22\.1\.0/);
  const unpatched = preloaded(
    t,
    `import { registerHooks } from 'node:module';
     registerHooks({ load: (url, context, next) => {
       const loaded = next(url, context);
       const source = url.endsWith('/postgres/src/index.js') && String(loaded.source).replace(/'triport-\\d+'/, "'none'");
       return source ? { ...loaded, source } : loaded;
     } });`,
  );
  await expectFinding(t, unpatched, /^problem: The postgres driver is not patched: run `npx patch-package`/);
});

t.test('who can reach the service', async t => {
  const production = { NODE_ENV: 'production', AUTH_MODE: 'required', TRUST_PROXY: '127.0.0.1' };
  const { unwell } = await examine(t, production);
  t.match(unwell, [/^warning: The database is embedded/]);
  await expectFinding(t, { ...production, AUTH_MODE: 'open' }, /^warning: AUTH_MODE is open/);
  await expectFinding(t, { HOST: '0.0.0.0' }, /^warning: AUTH_MODE is open/);
  await expectFinding(t, { HOST: '0.0.0.0' }, /^warning: NODE_ENV is development/);
  await expectFinding(t, { ...production, TRUST_PROXY: '' }, /^warning: TRUST_PROXY is empty/);
  for (const TRUST_PROXY of ['10.0.0.1, 0.0.0.0/0', '::/0'])
    await expectFinding(t, { ...production, TRUST_PROXY }, /^problem: TRUST_PROXY trusts every address/);
  // 0.0.0.0 is this machine, but not by its name.
  const remote = { DATABASE_URL: 'postgres://u:p@0.0.0.0:1/d', REDIS_URL: 'redis://0.0.0.0:1' };
  await expectFinding(
    t,
    { ...production, ...remote },
    /^warning: What goes over DATABASE_URL and REDIS_URL is not/,
  );
  const encrypted = { DATABASE_URL: 'postgres://u:p@0.0.0.0:1/d?sslmode=verify-full' };
  await expectFinding(t, { ...production, ...encrypted }, /^ok: No password crosses a network in clear text/);
});

t.test('secrets of webhooks that cannot work, or can be guessed', async t => {
  const check = (secrets: object, finding: RegExp) =>
    expectFinding(t, { WEBHOOK_SECRETS: JSON.stringify(secrets) }, finding);
  await check({ stripe: ['whsec_0123456789abcdef'] }, /^ok: Webhooks of stripe have usable secrets/);
  await check(
    { stripe: ['sk_live_0123456789abcdef'] },
    /^warning: A secret of stripe does not begin with whsec_/,
  );
  await check(
    { paddle: ['pdl_live_apikey_0123456789'] },
    /^warning: A secret of paddle does not begin with pdl_ntfset_/,
  );
  await check({ github: ['secret'] }, /^warning: A secret of github is so short or plain/);
  await check({ github: ['aaaaaaaaaaaaaaaaaaaaaaaa'] }, /^warning: A secret of github is so short or plain/);
  const server = { DATABASE_URL: 'postgres://triport:triport@0.0.0.0:1/d' };
  await expectFinding(t, server, /^warning: WEBHOOK_SECRETS is not set/);
  await expectFinding(t, server, /^warning: The password in DATABASE_URL is the name of its user/);
});

t.test('files with secrets that other users can read', async t => {
  const folder = makeFolder(t);
  const file = join(folder, 'secrets');
  writeFileSync(file, '{"stripe":["whsec_0123456789abcdef"]}', { mode: 0o644 });
  const env = { WEBHOOK_SECRETS_FILE: file };
  await expectFinding(t, env, /^warning: WEBHOOK_SECRETS_FILE can be read by every user.*chmod 600 \//);
  writeFileSync(join(folder, '.env'), 'LOG_LEVEL=info\n', { mode: 0o644 });
  await expectFinding(t, env, /^warning: The file \.env can be read by every user/, { folder });
  // The folder of deploy/compose.yaml: its files are open, and it is not.
  chmodSync(folder, 0o700);
  await expectFinding(t, env, /^ok: Files with secrets are closed to other users/, { folder });
});

t.test('a running service is known by its folder and by its ports', async t => {
  const DATA_DIR = join(makeFolder(t), 'data');
  const service = await startService(t, { DATA_DIR });
  const env = { DATA_DIR, PORT: String(service.port) };
  const { code, found } = await examine(t, env);
  t.equal(code, 0);
  t.match(found.join('\n'), /in use by a running service/);
  t.match(found.join('\n'), /PORT=\d+ is served by this service already/);
  await service.kill('SIGTERM');
  await expectFinding(t, env, /^ok: The database in .* is in use by nobody/);
  await expectFinding(t, env, /^ok: PORT=\d+ is free/);
});

t.test('a port of somebody else, and an address that is not of this machine', async t => {
  const stranger = createSocketServer(socket => socket.resume().end('HTTP/1.1 200 OK\r\n\r\nhello')).listen(
    0,
    '127.0.0.1',
  );
  t.teardown(() => stranger.close());
  await new Promise(resolve => stranger.once('listening', resolve));
  const { port } = stranger.address() as AddressInfo;
  await expectFinding(t, { PORT: String(port) }, /^problem: PORT=\d+ is in use/);
  await expectFinding(t, { METRICS_PORT: String(port) }, /^problem: METRICS_PORT=\d+ is in use/);
  await expectFinding(t, { PORT: '3000', HOST: '192.0.2.1' }, /^problem: Cannot listen on PORT=3000/);
});

t.test('a folder that cannot be written, and a disk that is full', async t => {
  const file = join(makeFolder(t), 'file');
  writeFileSync(file, '');
  await expectFinding(t, { DATA_DIR: join(file, 'data') }, /^problem: DATA_DIR=.* cannot be written/);
  const disk = makeDisk(t, '200m');
  if (disk === undefined) return t.pass('skipped: mounting a disk needs root');
  await expectFinding(
    t,
    { DATA_DIR: join(disk, 'data') },
    /^warning: The disk of .* has 200 MiB of free space/,
  );
  fill(disk, 40);
  await expectFinding(t, { DATA_DIR: disk }, /^problem: The disk of .* has 40 MiB of free space/);
});

t.test('what is wrong with Redis', { skip }, async t => {
  const redis = await startRedis(t);
  const env = { REDIS_URL: redis.url };
  const { unwell } = await examine(t, env);
  t.same(unwell, [], 'a new one is well');
  await expectFinding(
    t,
    { ...env, ...clockAhead(t, 10) },
    /^warning: The clock here is 10 s ahead of that of REDIS_URL/,
  );
  await expectFinding(
    t,
    { ...env, ...clockAhead(t, -60) },
    /^problem: The clock here is 60 s behind that of REDIS_URL/,
  );
  await redis.command('config set maxmemory 100mb');
  await expectFinding(t, env, /^warning: When Redis is full, its maxmemory-policy noeviction refuses writes/);
  await redis.command('config set maxmemory-policy allkeys-lru');
  await expectFinding(t, env, /^warning: When Redis is full, .* allkeys-lru may drop counts in use/);
  await redis.command('config set maxmemory-policy volatile-ttl');
  await expectFinding(t, env, /^ok: When Redis is full, it drops what would expire first/);
  for (const { begin, end } of Object.values(refusals)) {
    await redis.command(begin);
    await expectFinding(t, env, /^problem: REDIS_URL refuses writes/);
    await redis.command(end);
  }
  redis.freeze();
  await expectFinding(t, env, /^problem: REDIS_URL does not answer/);
  redis.thaw();
  await redis.command('config set requirepass hidden-password');
  await expectFinding(t, env, /^problem: REDIS_URL cannot be used: NOAUTH/);
  const { found } = await examine(t, { REDIS_URL: redis.url.replace('//', '//:other-password@') });
  t.match(found.join('\n'), /problem: REDIS_URL cannot be used: WRONGPASS/);
  t.notMatch(found.join('\n'), /other-password/);
  await redis.kill();
  await expectFinding(t, env, /^problem: REDIS_URL cannot be reached: nothing listens there/);
});

/** An HTTP server on loopback. */
async function serve(t: Test, listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await new Promise(resolve => server.once('listening', resolve));
  t.teardown(() => server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

t.test('what is wrong with the issuer of tokens', async t => {
  const { publicKey } = await generateKeyPair('ES256', { extractable: true });
  const usable = { ...(await exportJWK(publicKey)), kid: 'one' };
  let keys: unknown = { keys: [usable] };
  let status = 200;
  let configuration: object | undefined;
  const origin = await serve(t, ({ url = '' }, response) => {
    const body = url.startsWith('/.well-known') ? configuration : keys;
    response.writeHead(body ? status : 404).end(JSON.stringify(body));
  });
  const env = {
    AUTH_MODE: 'required',
    AUTH_JWKS_URL: `${origin}/jwks`,
    AUTH_ISSUER: origin,
    AUTH_AUDIENCE: 'a',
  };
  await expectFinding(t, env, /^ok: AUTH_ISSUER has no OpenID configuration/);
  configuration = { issuer: origin, jwks_uri: env.AUTH_JWKS_URL };
  t.same((await examine(t, env)).unwell, []);
  await expectFinding(
    t,
    { ...env, ...clockAhead(t, 90) },
    /^problem: The clock here is \d+ s ahead of that of AUTH_JWKS_URL/,
  );
  configuration = { issuer: `${origin}/`, jwks_uri: env.AUTH_JWKS_URL };
  await expectFinding(t, env, /^problem: AUTH_ISSUER must be exactly http.*\/, or every token is refused/);
  configuration = { issuer: origin, jwks_uri: `${origin}/keys` };
  await expectFinding(t, env, /^warning: AUTH_ISSUER publishes its keys at .*\/keys\./);
  keys = { keys: [usable, { kty: 'oct', k: 'aGlkZGVu', alg: 'HS256' }] };
  await expectFinding(t, env, /^warning: AUTH_JWKS_URL has 1 key that cannot be used here, and 1 that can/);
  const short = Buffer.alloc(128, 1).toString('base64url');
  keys = {
    keys: [
      { ...usable, use: 'enc' },
      { kty: 'RSA', n: short, e: 'AQAB' },
      { kty: 'EC', crv: 'P-256', x: 'no' },
      null,
    ],
  };
  await expectFinding(t, env, /^problem: AUTH_JWKS_URL has no key that can verify a token/);
  keys = ['a list'];
  await expectFinding(t, env, /^problem: AUTH_JWKS_URL is no key set/);
  status = 500;
  await expectFinding(t, env, /^problem: AUTH_JWKS_URL answers with 500/);
  const stalling = await serve(t, (_, response) => void response.writeHead(200).write('{"keys":['));
  const stalled = { ...env, AUTH_JWKS_URL: stalling };
  await expectFinding(t, stalled, /^problem: AUTH_JWKS_URL does not answer/);
  const gone = { ...env, AUTH_JWKS_URL: `http://127.0.0.1:${await freePort()}/jwks` };
  await expectFinding(t, gone, /^problem: AUTH_JWKS_URL cannot be reached: nothing listens there/);
});
