import { randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair } from 'jose';
import t, { type Test } from 'tap';
import { versionFinding } from '../../../scripts/lib/doctor/database.ts';
import { createPostgres } from '../../helper/database.ts';
import { clockAhead, examine, expectFinding } from '../../rig/doctor.ts';
import { openLocalPostgres } from '../../rig/openCluster.ts';
import { makeFolder, runCommand, startService } from '../../rig/process.ts';
import { hasPgBouncer, startPgBouncer } from '../../rig/servers/pgbouncer.ts';
import { freePorts } from '../../rig/servers/ports.ts';
import { makePostgres, queryPostgres } from '../../rig/servers/postgresServer.ts';
import { hasRedis, startRedis } from '../../rig/servers/redis.ts';

t.setTimeout(240_000);
const noRedis = !hasRedis && 'redis-server is not installed';
const stripe = `whsec_${randomBytes(24).toString('base64')}`;
const WEBHOOK_SECRETS = JSON.stringify({ stripe: [stripe] });

/** The URL of a database that the service has migrated. */
async function migrated(t: Test, url: string): Promise<string> {
  const { code, err } = await runCommand('scripts/migrate.ts', [], { DATABASE_URL: url });
  t.equal(code, 0, err);
  return url;
}

async function startIssuer(t: Test) {
  const { publicKey } = await generateKeyPair('RS256', { extractable: true });
  const server = createServer(async ({ url }, response) => {
    response.end(
      JSON.stringify(
        url === '/jwks'
          ? { keys: [await exportJWK(publicKey)] }
          : { issuer: origin, jwks_uri: `${origin}/jwks` },
      ),
    );
  }).listen(0, '127.0.0.1');
  await new Promise(resolve => server.once('listening', resolve));
  t.teardown(() => server.close());
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    AUTH_MODE: 'required',
    AUTH_JWKS_URL: `${origin}/jwks`,
    AUTH_ISSUER: origin,
    AUTH_AUDIENCE: 'triport',
  };
}

t.test(
  'a deployment that is well has nothing but ok, and no secret is printed',
  { skip: noRedis },
  async t => {
    const server = await makePostgres(t, 'on');
    await server.start();
    const redis = await startRedis(t);
    const env = {
      NODE_ENV: 'production',
      TRUST_PROXY: '127.0.0.1',
      DATABASE_URL: server.url,
      REDIS_URL: redis.url,
      WEBHOOK_SECRETS,
      ...(await startIssuer(t)),
    };
    const service = await startService(t, env);
    const { code, unwell, found } = await examine(t, { ...env, PORT: String(service.port) });
    t.same(unwell, []);
    t.equal(code, 0);
    t.ok(found.length > 15, found.join('\n'));
    t.notMatch(found.join('\n'), stripe);
    t.notMatch(found.join('\n'), 'triport:triport');
    server.freeze();
    await expectFinding(t, env, /^problem: DATABASE_URL does not answer/);
    server.thaw();
  },
);

t.test('a database that cannot be used', async t => {
  const url = await createPostgres(t, { empty: true });
  const change = (part: Partial<URL>) => ({ DATABASE_URL: Object.assign(new URL(url), part).href });
  await expectFinding(
    t,
    change({ password: 'wrong-password' }),
    /^problem: DATABASE_URL cannot be used: password authentication failed/,
  );
  await expectFinding(
    t,
    change({ pathname: '/absent' }),
    /^problem: DATABASE_URL cannot be used: database "absent" does not exist/,
  );
  await expectFinding(
    t,
    change({ port: '1' }),
    /^problem: DATABASE_URL cannot be reached: nothing listens there/,
  );
  await expectFinding(t, change({ search: '?sslmode=require' }), /^problem: DATABASE_URL /);
  const latin = await createPostgres(t, { empty: true, encoding: 'LATIN1' });
  await expectFinding(t, { DATABASE_URL: latin }, /^problem: .*encoded in LATIN1 and must be in UTF8/);
});

t.test('migrations that are pending, or of a newer release', async t => {
  const url = await createPostgres(t, { empty: true });
  const env = { DATABASE_URL: url, WEBHOOK_SECRETS };
  await expectFinding(t, env, /^warning: \d+ migrations are pending/);
  t.same(
    await queryPostgres(url, `select 1 from pg_namespace where nspname = 'drizzle'`),
    [],
    'it changes nothing',
  );
  await migrated(t, url);
  await expectFinding(t, env, /^ok: All migrations are applied/);
  await queryPostgres(
    url,
    `insert into drizzle.__drizzle_migrations (hash, created_at) values ('x', 9999999999999)`,
  );
  await expectFinding(t, env, /^problem: A newer release has migrated the database/);
});

t.test('what a server should not have', async t => {
  const url = await migrated(t, await createPostgres(t, { empty: true }));
  const name = new URL(url).pathname.slice(1);
  const env = { DATABASE_URL: url, WEBHOOK_SECRETS };
  // The server of the tests runs without fsync.
  await expectFinding(t, env, /^problem: PostgreSQL runs with fsync off/);
  await queryPostgres(url, `alter database ${name} set synchronous_commit = off`);
  await expectFinding(t, env, /^problem: PostgreSQL runs with fsync and synchronous_commit off/);
  await expectFinding(
    t,
    { ...env, ...clockAhead(t, 45) },
    /^problem: The clock here is 45 s ahead of that of the database/,
  );
  const many = { args: ['--servers', '100', '--workers', '2'] };
  await expectFinding(t, env, /^problem: 100 servers and 2 workers open up to 910 connections/, many);
  await expectFinding(t, { ...env, WORKER: 'apart' }, /^ok: 1 server and 1 worker open up to 14 connections/);
  await queryPostgres(url, `alter database ${name} connection limit 8`);
  await expectFinding(
    t,
    env,
    /^problem: 1 server and 0 workers open up to 9 connections, and the database has 8 /,
  );
  await queryPostgres(url, `alter database ${name} set default_transaction_read_only = on`);
  await expectFinding(t, env, /^problem: The database takes no writes/);
});

t.test('a role without its rights', async t => {
  const url = await migrated(t, await createPostgres(t, { empty: true }));
  const role = `doctor_${randomBytes(4).toString('hex')}`;
  await queryPostgres(url, `create role ${role} login password 'another-password'`);
  t.teardown(() => queryPostgres(url, `drop owned by ${role}; drop role ${role}`));
  const DATABASE_URL = Object.assign(new URL(url), { username: role, password: 'another-password' }).href;
  const env = { DATABASE_URL, WEBHOOK_SECRETS };
  await queryPostgres(
    url,
    `grant usage on schema drizzle to ${role}; grant select on drizzle.__drizzle_migrations to ${role}`,
  );
  await expectFinding(
    t,
    env,
    new RegExp(`^problem: .*: \`grant delete, insert, select, update on table users to ${role}\``),
  );
  await queryPostgres(
    url,
    `grant all on all tables in schema public to ${role}; grant usage on all sequences in schema public to ${role}`,
  );
  await expectFinding(t, env, /^ok: The role \w+ has the rights/);
  await queryPostgres(url, `revoke select, insert on list_log from ${role}`);
  await queryPostgres(url, 'revoke execute on all functions in schema public from public');
  await expectFinding(t, env, /`grant insert, select on table list_log to/);
  await expectFinding(t, env, /`grant execute on function list_fold\(/);
  await queryPostgres(url, `alter role ${role} superuser`);
  await expectFinding(t, env, /^ok: The role \w+ has the rights/);
});

t.test('the release of PostgreSQL', t => {
  t.match(versionFinding('14.21 (Debian)'), { level: 'warning' });
  for (const version of ['15.12', '18.4']) t.match(versionFinding(version), { level: 'ok' });
  t.end();
});

t.test('replicas that cannot be read from', { skip: noRedis }, async t => {
  const folder = makeFolder(t);
  const [port = 0, standbyPort = 0, otherPort = 0] = await freePorts(3);
  const primary = await openLocalPostgres(t, folder, port);
  await migrated(t, primary.url);
  const standby = await primary.makeStandby(folder, standbyPort, 'standby');
  t.teardown(() => standby.stop());
  const { url: REDIS_URL } = await startRedis(t);
  const env = { DATABASE_URL: primary.url, REDIS_URL, WEBHOOK_SECRETS };
  const withReplicas = (...urls: string[]) => ({ ...env, DATABASE_REPLICA_URLS: urls.join() });
  await expectFinding(t, withReplicas(standby.url), /^ok: DATABASE_REPLICA_URLS follows the primary/);
  await standby.query('select pg_wal_replay_pause()');
  await primary.query('create table later ()');
  await expectFinding(t, withReplicas(primary.url, standby.url), /^problem: Replica 1 of .* is no replica/);
  await expectFinding(
    t,
    withReplicas(standby.url),
    /^warning: DATABASE_REPLICA_URLS is more than 5 s behind/,
  );
  await expectFinding(t, { ...env, DATABASE_URL: standby.url }, /^problem: The database takes no writes/);
  const elsewhere = await openLocalPostgres(t, makeFolder(t), otherPort);
  await migrated(t, elsewhere.url);
  await expectFinding(
    t,
    { ...withReplicas(standby.url), DATABASE_URL: elsewhere.url },
    /^problem: .* is a copy of another database/,
  );
  await standby.stop();
  await expectFinding(t, withReplicas(standby.url), /^problem: DATABASE_REPLICA_URLS cannot be reached/);
});

t.test(
  'a pooler with and without time limits',
  { skip: !hasPgBouncer && 'pgbouncer is not installed' },
  async t => {
    const direct = await createPostgres(t);
    const through = (url: string) => ({
      DATABASE_URL: url,
      DATABASE_POOLER: 'transaction',
      WEBHOOK_SECRETS,
    });
    const limited = await startPgBouncer(t, direct);
    await expectFinding(t, through(limited), /^ok: The pooler sets the time limits/);
    const hidden = { DATABASE_URL: limited, WEBHOOK_SECRETS };
    await expectFinding(t, hidden, /^problem: The database is behind a pooler.*DATABASE_POOLER=transaction/);
    await expectFinding(t, through(direct), /^warning: .*without a pooler, remove DATABASE_POOLER/);
    const unlimited = await startPgBouncer(t, direct, { query: '' });
    await expectFinding(
      t,
      through(unlimited),
      /^warning: Sessions have no .*statement_timeout.*: set them in the connect_query of the pooler/,
    );
  },
);
