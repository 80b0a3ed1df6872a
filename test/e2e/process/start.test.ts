import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t, { type Test } from 'tap';
import { createPostgres } from '../../helper/database.ts';
import {
  freePort,
  makeDataFolder,
  makeFolder,
  queryPostgres,
  runCommand,
  startService,
  until,
} from '../../rig/process.ts';

t.setTimeout(240_000);

const server = process.env.TEST_POSTGRES_URL ?? '';
/** The URL of the server of the tests, with something changed. */
const urlWith = (change: Partial<URL>) => Object.assign(new URL(server), change).href;

t.test('SIGTERM to npm ends the service, and its port and its data folder are free', async t => {
  const [DATA_DIR, port] = [makeDataFolder(t), await freePort()];
  const npm = spawn('npm', ['start'], {
    cwd: fileURLToPath(new URL('../../..', import.meta.url)),
    env: { ...process.env, NODE_OPTIONS: '', DATA_DIR, PORT: String(port), HOST: '127.0.0.1' },
    stdio: 'ignore',
    // A group of its own, so that nothing of it outlives a test that fails.
    detached: true,
  });
  const ended = once(npm, 'exit');
  t.teardown(() => {
    try {
      process.kill(-(npm.pid ?? 0), 'SIGKILL');
    } catch {
      // All of it has ended.
    }
  });
  const answers = () => fetch(`http://127.0.0.1:${port}/health/ready`).then(({ ok }) => ok);
  await until('the service is ready', () => answers().catch(() => false), 90);
  npm.kill('SIGTERM');
  await ended;
  // The next one needs both, and refuses at once when it does not get them.
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

/** Something that listens on a port. */
async function takePort(t: Test): Promise<string> {
  const port = await freePort();
  const taken = createServer().listen(port, '127.0.0.1');
  await once(taken, 'listening');
  t.teardown(() => taken.close());
  return String(port);
}

/** One line on standard error that says why, and the exit code 1. */
async function refused(t: Test, command: string, env: Record<string, string>, why: RegExp): Promise<void> {
  const [script = '', ...args] = command.split(' ');
  const { code, out, err } = await runCommand(script, args, { PORT: '0', ...env });
  t.equal(code, 1, `${command} ends with 1`);
  t.match(err, why, command);
  t.equal(err.replace('The service cannot start because of its settings:\n', '').split('\n').length, 2, err);
  t.notMatch(out, /\\n\s+at /, 'no stack');
}

t.test('a port that is taken is noticed before a database is made', async t => {
  const [port, DATA_DIR] = [await takePort(t), makeFolder(t)];
  await refused(t, 'src/main.ts', { DATA_DIR, PORT: port }, /^PORT=\d+ is in use/);
  await refused(t, 'src/main.ts', { DATA_DIR, METRICS_PORT: port }, /^METRICS_PORT=\d+ is in use/);
  t.same(readdirSync(DATA_DIR), []);
  const DATABASE_URL = await createPostgres(t, { empty: true });
  await refused(t, 'src/worker.ts', { DATABASE_URL, METRICS_PORT: port }, /^METRICS_PORT=\d+ is in use/);
  t.same(await queryPostgres(DATABASE_URL, `select 1 from pg_class where relname = 'users'`), []);
});

/** What opens the database of DATABASE_URL. */
const users = (t: Test) => {
  const backup = join(makeFolder(t), 'monday.backup');
  writeFileSync(backup, 'PGDMP');
  const commands = ['migrate.ts', 'repair.ts', 'seed.ts', 'keys.ts list', `restore.ts ${backup}`];
  return ['src/main.ts', 'src/worker.ts', ...commands.map(command => `scripts/${command}`)];
};

t.test('a database that refuses the service is told in one line', async t => {
  const [wrong, absent] = [urlWith({ password: 'wrong' }), urlWith({ pathname: '/absent' })];
  for (const command of users(t)) {
    await refused(t, command, { DATABASE_URL: wrong }, /cannot be used: password authentication failed for/);
    await refused(t, command, { DATABASE_URL: absent }, /cannot be used: database "absent" does not exist/);
  }
});

t.test('a database in another encoding than UTF8 is refused before anything is made in it', async t => {
  for (const encoding of ['SQL_ASCII', 'LATIN1']) {
    const DATABASE_URL = await createPostgres(t, { empty: true, encoding });
    const why = new RegExp(`encoded in ${encoding} and must be in UTF8.*encoding 'UTF8' template template0`);
    for (const command of users(t).filter(name => /main|restore/.test(name)))
      await refused(t, command, { DATABASE_URL }, why);
    t.same(await queryPostgres(DATABASE_URL, `select 1 from pg_namespace where nspname = 'drizzle'`), []);
  }
});

t.test('a URL that no driver can use is refused by its name, and not repeated', async t => {
  for (const url of ['nonsense', 'postgres://u:hidden@h:99999/d', 'postgres://u:hid%zzden@h/d'])
    await refused(t, 'src/main.ts', { DATABASE_URL: url }, /settings:\n {2}- DATABASE_URL must (?!.*hid)/);
});

t.test('a bug keeps its stack', async t => {
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
  'a line of .env that Node drops in silence stops the start, and so does a misspelt name there',
  async t => {
    const folder = makeFolder(t);
    writeFileSync(join(folder, '.env'), 'PROT=4300\nAUTH_MODE: required\nDATA_DIR=./data\n');
    const { code, err } = await runCommand('src/main.ts', [], {}, folder);
    t.equal(code, 1);
    t.equal(
      err,
      `The service cannot start because of its settings:
  - .env, line 2, cannot be read: it must be NAME=value
  - PROT is not a setting: did you mean PORT?\n`,
    );
    t.same(readdirSync(folder), ['.env']);
  },
);

t.test('another protocol of traces than http/json stops the start', async t => {
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4317', OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' };
  await refused(
    t,
    'src/main.ts',
    { DATA_DIR: makeFolder(t), ...env },
    /^OTEL_EXPORTER_OTLP_PROTOCOL must be/,
  );
});
