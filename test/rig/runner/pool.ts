import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { Shares } from '#src/core/shares.ts';
import type { TestFile } from './files.ts';
import type { Result } from './worker.ts';

/** Lets six files of all suites run at once. They keep two cores busy; more would only make each test slower. */
const slots = new Shares(6);
const aDay = 86_400_000;

/** Milliseconds of silence until a worker is killed because it hangs in a loop; those of a file are fewer. */
const longest = 660_000;

/** Processes of tests are too short-lived for the optimizing WebAssembly compiler to pay off. */
export const flags = ['--liftoff-only', '--disable-warning=ExperimentalWarning'];

const program = fileURLToPath(new URL('worker.ts', import.meta.url));

export interface Counts {
  passed: number;
  failed: number;
}

interface Run {
  suite: string;
  files: TestFile[];
  /** How many files run at once. */
  workers: number;
  env: Record<string, string>;
}

interface Worker {
  child: ChildProcess;
  /** Its exit code, or the signal that ended it. */
  ended: Promise<number | string>;
}

/** Runs test files in a few processes. A process in which a file failed is replaced before the next file. */
export async function runFiles({ suite, files, workers, env }: Run): Promise<Counts> {
  const began = performance.now();
  const waiting = [...files];
  const counts: Counts = { passed: 0, failed: 0 };
  const started: Worker[] = [];
  async function work() {
    let worker: Worker | undefined;
    for (let file = waiting.shift(); file; file = waiting.shift()) {
      const changesProcess = file.words.includes('in its own process');
      if (worker && changesProcess) worker = end(worker);
      if (!worker) {
        worker = start(env);
        started.push(worker);
      }
      const { passed, failed } = await runInTurn(worker, suite, file);
      counts.passed += passed;
      counts.failed += failed;
      if (failed > 0 || changesProcess) worker = end(worker);
    }
    end(worker);
  }
  await Promise.all(Array.from({ length: workers }, work));
  // Waits for the processes: at its exit each writes what it compiled into a folder that is removed afterwards.
  await Promise.all(started.map(({ ended }) => ended));
  if (files.length > 0) console.log(`       ${secondsSince(began)} s  ${suite}, ${files.length} files`);
  return counts;
}

// The timeout of tap for the process is off, because each file has its own.
function start(env: Record<string, string>): Worker {
  const child = fork(program, {
    execArgv: flags,
    env: { ...process.env, TAP_TIMEOUT: '0', ...env },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  return { child, ended: once(child, 'exit').then(([code, signal]) => code ?? signal) };
}

function end(worker: Worker | undefined): undefined {
  if (worker?.child.connected) worker.child.disconnect();
}

const runInTurn = (...how: Parameters<typeof run>) =>
  slots.inTurn('a file', performance.now() + aDay, () => run(...how));

async function run({ child, ended }: Worker, suite: string, test: TestFile): Promise<Result> {
  const file = test.path;
  const started = performance.now();
  const killer = setTimeout(() => child.kill('SIGKILL'), longest);
  const wait = () => killer.refresh();
  child.on('message', wait);
  const result = await Promise.race([resultOf(child, test), ended.then(exit => earlyExit(file, exit))]);
  child.off('message', wait);
  clearTimeout(killer);
  const outcome = result.failed > 0 ? 'FAILED' : 'ok    ';
  console.log(`${outcome} ${secondsSince(started)} s  ${suite.padEnd(8)}  ${file}`);
  if (result.failed > 0) console.log(failuresOf(result.output) || result.output.slice(-4000));
  return result;
}

const secondsSince = (start: number) => ((performance.now() - start) / 1000).toFixed(1).padStart(5);

/** Waits for the result among other messages, such as the timeouts that tap sends its own runner. */
function resultOf(child: ChildProcess, file: TestFile): Promise<Result> {
  return new Promise(resolve => {
    child.on('message', function onMessage(message: Partial<Result>) {
      if (message.file !== file.path) return;
      child.off('message', onMessage);
      resolve(message as Result);
    });
    // A process that has ended by now is noticed by its exit.
    child.send(file, () => {});
  });
}

/** A file whose process exits before its result counts as one failure, whatever passed. */
const earlyExit = (file: string, exit: number | string): Result => ({
  file,
  passed: 0,
  failed: 1,
  output: `The process ended with ${exit}.`,
});

/** The failed assertions with their diagnostics. */
function failuresOf(output: string): string {
  const failed = /^( *)not ok .*(?:\n\1 {2}---\n[\s\S]*?\n\1 {2}\.\.\.)?/gm;
  return [...output.matchAll(failed)].map(([text]) => text.slice(0, 4000)).join('\n');
}
