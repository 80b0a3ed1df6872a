// runs: on embedded, on postgres
import { randomBytes } from 'node:crypto';
import { exportJWK, generateKeyPair } from 'jose';
import t, { type Test } from 'tap';
import { main } from '#scripts/doctor.ts';
import { run } from '#test/helper/command.ts';
import { backend, createPostgres } from '#test/helper/database.ts';
import { serve } from '#test/helper/servers/serve.ts';
import { queryPostgres } from '#test/rig/cluster/postgres.ts';
import { hasPgBouncer, startPgBouncer } from '#test/rig/servers/pgbouncer.ts';
import { hasRedis, refusals, startRedis } from '#test/rig/servers/redis.ts';

const needsServer = backend === 'embedded' && 'needs a server';
const needsNone = backend === 'postgres' && 'the database makes no difference';
const needsRedis = needsNone || (!hasRedis && 'redis-server is not installed');

type Env = Record<string, string>;
const WEBHOOK_SECRETS = JSON.stringify({ stripe: [`whsec_${randomBytes(24).toString('base64')}`] });

/** Returns the findings of `npm run doctor` with these settings. */
async function examine(t: Test, env: Env, args: string[] = []) {
  const { code, out, err } = await run(main, ['--json', ...args], { WEBHOOK_SECRETS, ...env });
  t.equal(err, '');
  const findings: Record<'level' | 'code' | 'text', string>[] = JSON.parse(out);
  t.equal(code, findings.some(({ level }) => level === 'problem') ? 1 : 0, 'the exit code');
  return findings;
}

async function expect(t: Test, finding: string, env: Env, args: string[] = []): Promise<void> {
  const findings = await examine(t, env, args);
  const found = findings.map(({ level, code }) => `${level} ${code}`);
  t.ok(found.includes(finding), `${finding} among ${JSON.stringify(findings)}`);
}

/** Sets the clock ahead while the work is done. */
async function ahead(seconds: number, work: () => Promise<void>): Promise<void> {
  const { now } = Date;
  Date.now = () => now() + seconds * 1000;
  await work().finally(() => {
    Date.now = now;
  });
}

const production = { NODE_ENV: 'production', AUTH_MODE: 'required', TRUST_PROXY: '127.0.0.1' };

t.test('settings, and who can reach the service', { skip: needsNone }, async t => {
  t.same(await examine(t, production), [
    { level: 'ok', code: 'settings', text: 'The settings are valid and do not contradict each other.' },
    { level: 'ok', code: 'database', text: 'The embedded database is checked when it starts.' },
    { level: 'ok', code: 'exposure', text: 'Nobody can reach, read or sign what is not meant for them.' },
  ]);
  await expect(t, 'problem settings', { AUTH_ISSUER: 'x' });
  await expect(t, 'warning access', { ...production, AUTH_MODE: 'open' });
  await expect(t, 'warning access', { HOST: '0.0.0.0' });
  await expect(t, 'warning environment', { HOST: '0.0.0.0' });
  await expect(t, 'warning proxies', { ...production, TRUST_PROXY: '' });
  for (const TRUST_PROXY of ['10.0.0.1, 0.0.0.0/0', '::/0'])
    await expect(t, 'problem proxies', { ...production, TRUST_PROXY });
  // 0.0.0.0 reaches this machine, but doctor does not count it as this machine.
  await expect(t, 'warning encryption', { ...production, REDIS_URL: 'redis://0.0.0.0:1' });
  const url = 'postgres://u:hidden@0.0.0.0:1/d?sslmode=';
  await expect(t, 'warning encryption', { ...production, DATABASE_URL: `${url}prefer` });
  await expect(t, 'ok exposure', { ...production, DATABASE_URL: `${url}verify-full` });
  await expect(t, 'warning webhook_secrets', { WEBHOOK_SECRETS: '{"github":["a_secret"]}' });
  await expect(t, 'warning webhook_secrets', { WEBHOOK_SECRETS: '', DATABASE_URL: url });
  const { out } = await run(main, [], { DATABASE_URL: url });
  t.match(out, /^ok {7}The settings[\s\S]*\nproblem {2}DATABASE_URL cannot be used \(/);
  t.notMatch(out, /hidden/);
});

t.test('a database that cannot be used, or takes no writes', { skip: needsServer }, async t => {
  const url = await createPostgres(t);
  const change = (part: Partial<URL>) => ({ DATABASE_URL: Object.assign(new URL(url), part).href });
  await expect(t, 'problem database', change({ password: 'wrong' }));
  await expect(t, 'problem database', change({ pathname: '/absent' }));
  await expect(t, 'problem database', change({ port: '1' }));
  await expect(t, 'problem database', change({ search: '?sslmode=require' }));
  const latin = await createPostgres(t, { empty: true, encoding: 'LATIN1' });
  await expect(t, 'problem database', { DATABASE_URL: latin });
  const name = new URL(url).pathname.slice(1);
  await queryPostgres(url, `alter database ${name} set default_transaction_read_only = on`);
  await expect(t, 'problem read_only', { DATABASE_URL: url });
});

t.test('migrations, connections and the clock of the database', { skip: needsServer }, async t => {
  const empty = { DATABASE_URL: await createPostgres(t, { empty: true }) };
  await expect(t, 'warning migrations', empty);
  const schema = `select 1 from pg_namespace where nspname = 'drizzle'`;
  t.same(await queryPostgres(empty.DATABASE_URL, schema), [], 'it changes nothing');
  const env = { DATABASE_URL: await createPostgres(t) };
  await expect(t, 'ok database', env);
  await expect(t, 'problem connections', env, ['--servers', '100', '--workers', '2']);
  const name = new URL(env.DATABASE_URL).pathname.slice(1);
  await queryPostgres(env.DATABASE_URL, `alter database ${name} connection limit 13`);
  await expect(t, 'ok database', env);
  await expect(t, 'problem connections', env, ['--workers', '1']);
  await ahead(45, () => expect(t, 'problem database_clock', env));
  const user = `insert into users (id, name, email, created_at, updated_at)
    values (gen_random_uuid(), 'Ada', 'a@example.com', now(), now())`;
  const identity = `insert into identities (id, issuer, subject, user_id, created_at)
    select gen_random_uuid(), 'https://old.example', 's', id, now() from users`;
  const issuer = {
    ...{ AUTH_MODE: 'required', AUTH_ISSUER: 'https://new.example', AUTH_AUDIENCE: 'api' },
    AUTH_JWKS_URL: 'http://127.0.0.1:1/jwks',
  };
  for (const statement of [user, identity]) await queryPostgres(env.DATABASE_URL, statement);
  await expect(t, 'warning identities', { ...env, ...issuer });
  const newer = `insert into drizzle.__drizzle_migrations (hash, created_at) values ('x', 9999999999999)`;
  await queryPostgres(env.DATABASE_URL, newer);
  await expect(t, 'warning migrations', env);
});

t.test('each right that is missing, by the grant that gives it', { skip: needsServer }, async t => {
  const url = await createPostgres(t);
  const role = `doctor_${randomBytes(4).toString('hex')}`;
  await queryPostgres(url, `create role ${role} login password 'another-password'`);
  t.teardown(() => queryPostgres(url, `drop owned by ${role}; drop role ${role}`));
  const DATABASE_URL = Object.assign(new URL(url), { username: role, password: 'another-password' }).href;
  await queryPostgres(url, 'create table later (id serial); create function later() returns int return 1');
  await queryPostgres(url, 'revoke execute on all functions in schema public from public');
  // The findings have the statements that grant what is missing; nothing is missing after them.
  const findings = await examine(t, { DATABASE_URL });
  const grants = findings.filter(({ code }) => code === 'rights').map(({ text }) => text.split('`')[1] ?? '');
  for (const object of [
    'schema drizzle',
    'table users',
    'table later',
    'sequence later_id_seq',
    'function later()',
  ])
    t.ok(
      grants.some(grant => grant.endsWith(` on ${object} to ${role}`)),
      object,
    );
  await queryPostgres(url, grants.join('; '));
  await expect(t, 'ok database', { DATABASE_URL });
  await queryPostgres(url, `revoke insert on list_log from ${role}`);
  t.match(await examine(t, { DATABASE_URL }), [
    {},
    {},
    { text: `\`grant insert on table list_log to ${role}\`` },
  ]);
  await queryPostgres(url, `grant insert on list_log to ${role}; delete from drizzle.__drizzle_migrations`);
  // A service with the owner's role would migrate at its start; one with this role does not start.
  await expect(t, 'problem migrations', { DATABASE_URL });
});

t.test('a pooler', { skip: needsServer || (!hasPgBouncer && 'pgbouncer is not installed') }, async t => {
  const direct = await createPostgres(t);
  const DATABASE_URL = await startPgBouncer(t, direct);
  const hidden = await examine(t, { DATABASE_URL });
  t.match(hidden.at(-1), { code: 'database', text: /PgBouncer.*set DATABASE_POOLER=transaction/ });
  const pooled = { DATABASE_POOLER: 'transaction' };
  await expect(t, 'ok database', { ...pooled, DATABASE_URL });
  await expect(t, 'warning time_limits', { ...pooled, DATABASE_URL: direct });
});

t.test('Redis', { skip: needsRedis }, async t => {
  const redis = await startRedis(t);
  const env = { REDIS_URL: redis.url };
  await expect(t, 'ok redis', env);
  await ahead(10, () => expect(t, 'warning redis_clock', env));
  await redis.command('config set maxmemory 100mb');
  await expect(t, 'warning redis_memory', env);
  await redis.command('config set maxmemory-policy volatile-ttl');
  await expect(t, 'ok redis', env);
  for (const { begin, end } of Object.values(refusals)) {
    await redis.command(begin);
    await expect(t, 'problem redis', env);
    await redis.command(end);
  }
  redis.signal('SIGSTOP');
  await expect(t, 'problem redis', env);
  redis.signal('SIGCONT');
  await redis.command('config set requirepass hidden-password');
  await expect(t, 'problem redis', env);
  const wrong = await examine(t, { REDIS_URL: redis.url.replace('//', '//:other-password@') });
  t.match(wrong.at(-1), { code: 'redis', text: /WRONGPASS/ });
  t.notMatch(JSON.stringify(wrong), /other-password/);
  await redis.stop('SIGKILL');
  await expect(t, 'problem redis', env);
});

t.test('the issuer of tokens', { skip: needsNone }, async t => {
  const { publicKey } = await generateKeyPair('RS256', { extractable: true });
  let keys: unknown = { keys: [await exportJWK(publicKey)] };
  let [seconds, issuer, status] = [0, '', 200];
  const { url: origin, close } = await serve(t, ({ url }, response) => {
    response.setHeader('date', new Date(Date.now() + seconds * 1000).toUTCString());
    if (url === '/jwks') response.writeHead(status, { location: '/moved' });
    response.end(JSON.stringify(url === '/jwks' || url === '/moved' ? keys : { issuer }));
  });
  issuer = origin;
  const env = {
    ...production,
    AUTH_JWKS_URL: `${origin}/jwks`,
    AUTH_ISSUER: origin,
    AUTH_AUDIENCE: 'triport',
  };
  await expect(t, 'ok issuer', env);
  seconds = 90;
  await expect(t, 'problem issuer_clock', env);
  seconds = 0;
  issuer = `${origin}/`;
  await expect(t, 'problem issuer_name', env);
  // The service takes no keys from an error, and follows no redirect.
  for (status of [302, 500]) await expect(t, 'problem issuer', env);
  status = 200;
  const forEncryption = { ...(await exportJWK(publicKey)), use: 'enc' };
  for (const other of [{ keys: [{ kty: 'oct', k: 'aGlkZGVu' }, forEncryption, null] }, ['a list'], null]) {
    keys = other;
    await expect(t, 'problem issuer_keys', env);
  }
  close();
  await expect(t, 'problem issuer', env);
});
