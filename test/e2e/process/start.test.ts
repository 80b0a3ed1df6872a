import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t, { type Test } from 'tap';
import { createPostgres } from '../../helper/database.ts';
import { makeDataFolder, makeFolder, runCommand, startService, until } from '../../rig/process.ts';
import { freePort } from '../../rig/servers/ports.ts';
import { queryPostgres } from '../../rig/servers/postgresServer.ts';

t.setTimeout(240_000);

const server = process.env.TEST_POSTGRES_URL ?? '';
/** The URL of the test server, with changes. */
const urlWith = (change: Partial<URL>) => Object.assign(new URL(server), change).href;

t.test('SIGTERM to npm stops the service and releases its port and its data folder', async t => {
  const [DATA_DIR, port] = [makeDataFolder(t), await freePort()];
  const npm = spawn('npm', ['start'], {
    cwd: fileURLToPath(new URL('../../..', import.meta.url)),
    env: { ...process.env, NODE_OPTIONS: '', DATA_DIR, PORT: String(port), HOST: '127.0.0.1' },
    stdio: 'ignore',
    // A separate process group, so that a failed test leaves no process behind.
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
  await until('the service is ready', () => answers().catch(() => false), 90);
  npm.kill('SIGTERM');
  await ended;
  // The next start fails at once unless both are free.
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

/** Every command that opens the database of DATABASE_URL. */
const commandsWithDatabase = (t: Test) => {
  const backup = join(makeFolder(t), 'monday.backup');
  writeFileSync(backup, 'PGDMP');
  const commands = ['migrate.ts', 'repair.ts', 'seed.ts', 'keys.ts list', `restore.ts ${backup}`];
  return ['src/main.ts', 'src/worker.ts', ...commands.map(command => `scripts/${command}`)];
};

t.test('a database that refuses the service is reported in one line', async t => {
  const [wrong, absent] = [urlWith({ password: 'wrong' }), urlWith({ pathname: '/absent' })];
  for (const command of commandsWithDatabase(t)) {
    await expectRefusal(
      t,
      command,
      { DATABASE_URL: wrong },
      /cannot be used: password authentication failed for/,
    );
    await expectRefusal(
      t,
      command,
      { DATABASE_URL: absent },
      /cannot be used: database "absent" does not exist/,
    );
  }
});

t.test('a database whose encoding is not UTF8 is refused before anything is created in it', async t => {
  for (const encoding of ['SQL_ASCII', 'LATIN1']) {
    const DATABASE_URL = await createPostgres(t, { empty: true, encoding });
    const why = new RegExp(`encoded in ${encoding} and must be in UTF8.*encoding 'UTF8' template template0`);
    for (const command of commandsWithDatabase(t).filter(name => /main|restore/.test(name)))
      await expectRefusal(t, command, { DATABASE_URL }, why);
    t.same(await queryPostgres(DATABASE_URL, `select 1 from pg_namespace where nspname = 'drizzle'`), []);
  }
});

t.test('an invalid DATABASE_URL is refused by the name of the setting, without its value', async t => {
  for (const url of ['nonsense', 'postgres://u:hidden@h:99999/d', 'postgres://u:hid%zzden@h/d'])
    await expectRefusal(
      t,
      'src/main.ts',
      { DATABASE_URL: url },
      /settings:\n {2}- DATABASE_URL must (?!.*hid)/,
    );
});

t.test('an unexpected error keeps its stack', async t => {
  const hook = join(makeFolder(t), 'hook.mjs');
  writeFileSync(hook, `process.loadEnvFile = () => { throw new Error('unforeseen'); };`);
  const folder = makeFolder(t);
  writeFileSync(join(folder, '.env'), '');
  const { code, err } = await runCommand(
    'scripts/migrate.ts',
    [],
    { NODE_OPTIONS: `--import=${hook}` },
    folder,
  );
  t.equal(code, 1);
  t.match(err, /^Error: unforeseen\n\s+at /);
});

t.test(
  'a line of .env that Node ignores silently stops the start, and a name that is no setting is named',
  async t => {
    const folder = makeFolder(t);
    writeFileSync(join(folder, '.env'), 'PROT=4300\nAUTH_MODE: required\nDATA_DIR=./data\n');
    const { code, err } = await runCommand('src/main.ts', [], {}, folder);
    t.equal(code, 1);
    t.equal(
      err,
      `.env has names that are no settings: PROT (did you mean PORT?)
The service cannot start because of its settings:
  - .env, line 2, cannot be read: it must be NAME=value\n`,
    );
    t.same(readdirSync(folder), ['.env']);
  },
);

t.test('a trace protocol other than http/json stops the start', async t => {
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4317', OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' };
  await expectRefusal(
    t,
    'src/main.ts',
    { DATA_DIR: makeFolder(t), ...env },
    /^OTEL_EXPORTER_OTLP_PROTOCOL must be/,
  );
});
