import { chmodSync, existsSync, mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { type Arguments, mainOf } from '#src/command.ts';
import { exit } from '#src/process/exit.ts';
import { makeDataFolder, makeSnapshot, startCitus, startServer } from './databases.ts';
import { chooseTests, type Suite, type TestFile } from './files.ts';
import { type Counts, runFiles } from './pool.ts';

const usage = `npm test -- [embedded] [postgres] [e2e] [nightly] [citus] [part of a path …]

Runs the tests on the embedded database and, side by side, on a real PostgreSQL, which comes from npm; with names of
suites, only those; with folders, files or parts of their names, only those. TEST_MEMORY names the folder of the
databases, by default one in memory, and TEST_SEED repeats random tests. The last line is 'N passed, N failed'.

Examples: npm test -- test/changes
          npm test -- embedded test/rest/lists.test.ts`;

const options = {} as const;

/** The most files of a suite that run at once. */
const workers: Record<Suite, number> = { embedded: 2, postgres: 4, e2e: 4, nightly: 2, citus: 3 };

const isSuite = (name: string): name is Suite => Object.hasOwn(workers, name);

async function main({ positionals }: Arguments<typeof options>): Promise<void> {
  const parts = positionals.filter(name => !isSuite(name)).map(part => relative('', part));
  // Tests are chosen before anything is started, because one may have unknown words.
  const runs = chooseTests(positionals.filter(isSuite), parts);
  const folder = makeFolder();
  const suites = runs.map(({ suite }) => suite);
  const starting = startDatabases(folder, suites);
  process.once('SIGINT', () => starting.then(({ stop }) => stop()).finally(() => exit(1)));
  const databases = await starting;
  const { passed, failed } = await runSuites(runs, suite => ({
    ...sharedEnv(folder),
    ...databases.env[suite],
  }));
  await databases.stop();
  console.log(`${passed} passed, ${failed} failed`);
  await exit(failed > 0 || passed === 0 ? 1 : 0);
}

/** A folder in memory: cloning the 300 files of a database there takes a fifth of the time, or less. */
const memory = '/dev/shm';
/** Bytes that the databases of all tests take at most. */
const needed = 4e9;

/** Makes a folder that is removed whenever the process exits. */
function makeFolder(): string {
  const { bavail, bsize } = existsSync(memory) ? statfsSync(memory) : { bavail: 0, bsize: 0 };
  const usual = bavail * bsize > needed ? memory : tmpdir();
  const folder = mkdtempSync(join(process.env.TEST_MEMORY || usual, 'triport-test-'));
  // PostgreSQL runs as another user under root, and needs access.
  chmodSync(folder, 0o755);
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

const sharedEnv = (folder: string) => ({
  // The application is compiled once, not in each process.
  NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE || join(folder, 'compiled'),
  // Tests write to memory too; a test that needs a disk uses TEST_DISK.
  TMPDIR: folder,
  TEST_DISK: tmpdir(),
});

/** Starts or creates the databases that the suites need. */
async function startDatabases(folder: string, suites: Suite[]) {
  const needs = (...names: Suite[]) => names.some(name => suites.includes(name));
  const [snapshot, dataFolder, server, citus] = await Promise.all([
    needs('embedded') ? makeSnapshot(folder) : '',
    needs('e2e', 'nightly') ? makeDataFolder(folder) : '',
    needs('postgres', 'e2e', 'nightly') ? startServer(folder) : undefined,
    needs('citus') ? startCitus(folder) : undefined,
  ]);
  const postgres: Record<string, string> = { TEST_POSTGRES_URL: server?.url ?? '' };
  const processes = { ...postgres, TEST_DATA_FOLDER: dataFolder };
  const [coordinator = '', ...nodes] = citus?.urls ?? [];
  const env: Record<Suite, Record<string, string>> = {
    embedded: { TEST_SNAPSHOT: snapshot },
    postgres,
    e2e: processes,
    nightly: processes,
    citus: { TEST_POSTGRES_URL: coordinator, TEST_POSTGRES_NODES: nodes.join() },
  };
  return { env, stop: () => Promise.all([server?.stop(), citus?.stop()]) };
}

/** Runs the suites side by side, because tests also wait. Late tests come last. */
async function runSuites(
  runs: { suite: Suite; tests: TestFile[] }[],
  envOf: (suite: Suite) => Record<string, string>,
): Promise<Counts> {
  const all = runs.map(({ suite, tests }) => {
    const { late = [], early = [] } = Object.groupBy(tests, ({ words }) =>
      words.includes('late') ? 'late' : 'early',
    );
    const run = (files: TestFile[], workers: number) =>
      runFiles({ suite, files, workers, env: envOf(suite) });
    return { together: () => run(early, workers[suite]), last: () => run(late, Math.min(3, workers[suite])) };
  });
  const counts = await Promise.all(all.map(({ together }) => together()));
  counts.push(...(await Promise.all(all.map(({ last }) => last()))));
  const sum = (key: keyof Counts) => counts.reduce((total, count) => total + count[key], 0);
  return { passed: sum('passed'), failed: sum('failed') };
}

await mainOf(import.meta, { usage, options, most: Number.POSITIVE_INFINITY, run: main });
