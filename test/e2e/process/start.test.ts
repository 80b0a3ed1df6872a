import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t, { type Test } from 'tap';
import { createPostgres } from '#test/helper/database.ts';
import { queryPostgres } from '#test/rig/cluster/postgres.ts';
import {
  call,
  makeDataFolder,
  makeFolder,
  preload,
  runCommand,
  spawnService,
  startService,
  until,
  untilReady,
} from '#test/rig/process.ts';
import { freePort } from '#test/rig/servers/ports.ts';

const server = process.env.TEST_POSTGRES_URL ?? '';

t.test('SIGTERM to npm stops the service and releases its port and its data folder', async t => {
  const [DATA_DIR, port] = [makeDataFolder(t), await freePort()];
  const npm = spawn('npm', ['start'], {
    cwd: fileURLToPath(new URL('../../..', import.meta.url)),
    env: { ...process.env, NODE_OPTIONS: '', DATA_DIR, PORT: String(port), HOST: '127.0.0.1' },
    stdio: 'ignore',
    // A process group of its own lets a failed test leave no process behind.
    detached: true,
  });
  const ended = once(npm, 'exit');
  t.teardown(() => {
    try {
      process.kill(-(npm.pid ?? 0), 'SIGKILL');
    } catch {
      // Every process has exited already.
    }
  });
  const answers = () => fetch(`http://127.0.0.1:${port}/health/ready`).then(({ ok }) => ok);
  await until('the service is ready', () => answers().catch(() => false));
  npm.kill('SIGTERM');
  await ended;
  // The next start fails at once unless the port and the data folder are free.
  await until(
    'the port is free',
    () =>
      answers()
        .then(() => false)
        .catch(() => true),
    15,
  );
  await startService(t, { DATA_DIR, PORT: String(port) });
});

/** Listens on a free port and returns it. */
async function occupyPort(t: Test): Promise<string> {
  const port = await freePort();
  const listener = createServer().listen(port, '127.0.0.1');
  await once(listener, 'listening');
  t.teardown(() => listener.close());
  return String(port);
}

/** Expects one line on standard error that names the cause, and exit code 1. */
async function expectRefusal(
  t: Test,
  command: string,
  env: Record<string, string>,
  why: RegExp,
): Promise<void> {
  const [script = '', ...args] = command.split(' ');
  const { code, out, err } = await runCommand(script, args, { PORT: '0', ...env });
  t.equal(code, 1, `${command} exits with 1`);
  t.match(err, why, command);
  t.equal(err.replace('The service cannot start because of its settings:\n', '').split('\n').length, 2, err);
  t.notMatch(out, /\\n\s+at /, 'no stack');
}

t.test('a port in use stops the start before a database is created', async t => {
  const [port, DATA_DIR] = [await occupyPort(t), makeFolder(t)];
  await expectRefusal(t, 'src/main.ts', { DATA_DIR, PORT: port }, /^PORT=\d+ is in use/);
  await expectRefusal(t, 'src/main.ts', { DATA_DIR, METRICS_PORT: port }, /^METRICS_PORT=\d+ is in use/);
  t.same(readdirSync(DATA_DIR), []);
  const DATABASE_URL = await createPostgres(t, { empty: true });
  await expectRefusal(
    t,
    'src/worker.ts',
    { DATABASE_URL, METRICS_PORT: port },
    /^METRICS_PORT=\d+ is in use/,
  );
  t.same(await queryPostgres(DATABASE_URL, `select 1 from pg_class where relname = 'users'`), []);
});

t.test('a database that refuses the service is reported in one line', async t => {
  const refusals: [string, Partial<URL>, string][] = [
    ['src/main.ts', { password: 'wrong' }, 'password authentication failed for'],
    ['src/worker.ts', { pathname: '/absent' }, 'database "absent" does not exist'],
    ['scripts/keys.ts list', { pathname: '/absent' }, 'database "absent" does not exist'],
  ];
  for (const [command, change, why] of refusals) {
    const DATABASE_URL = Object.assign(new URL(server), change).href;
    await expectRefusal(t, command, { DATABASE_URL }, new RegExp(`cannot be used: ${why}`));
  }
});

t.test('a database whose encoding is not UTF8 is refused before anything is created in it', async t => {
  const DATABASE_URL = await createPostgres(t, { empty: true, encoding: 'LATIN1' });
  const backup = join(makeFolder(t), 'monday.backup');
  writeFileSync(backup, 'PGDMP');
  const why = /encoded in LATIN1 and must be in UTF8.*encoding 'UTF8' template template0/;
  for (const command of ['src/main.ts', `scripts/restore.ts ${backup}`])
    await expectRefusal(t, command, { DATABASE_URL }, why);
  t.same(await queryPostgres(DATABASE_URL, `select 1 from pg_namespace where nspname = 'drizzle'`), []);
});

t.test('an unexpected error keeps its stack', async t => {
  const failing = preload(`process.loadEnvFile = () => { throw new Error('unforeseen'); };`);
  const folder = makeFolder(t);
  writeFileSync(join(folder, '.env'), '');
  const { code, err } = await runCommand('scripts/migrate.ts', [], { NODE_OPTIONS: failing }, folder);
  t.equal(code, 1);
  t.match(err, /^Error: unforeseen\n\s+at /);
});

t.test('what no request has asked for, and what the settings do not name, is not loaded', async t => {
  const NODE_OPTIONS = preload(`import { registerHooks } from 'node:module';
    const load = (url, context, next) => (console.error(url), next(url, context));
    registerHooks({ load });`);
  const service = spawnService(t, { DATABASE_URL: await createPostgres(t), NODE_OPTIONS });
  await until('it listens', () => service.port > 0);
  await untilReady(service);
  const loaded = (name: string) => service.errors().includes(`/node_modules/${name}/`);
  t.ok(loaded('fastify'));
  for (const name of ['graphql', 'mercurius', 'yaml', 'ioredis', 'jose', '@electric-sql/pglite'])
    t.notOk(loaded(name), name);
  const { body } = await call(service, 'POST', '/api/graphql', { query: '{ usersCount }' });
  t.same(body, { data: { usersCount: 0 } });
  t.ok(loaded('mercurius'));
  t.notOk(loaded('graphql-jit'), 'the compiler of Mercurius');
});
