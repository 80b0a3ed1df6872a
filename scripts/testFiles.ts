import { spawn } from 'node:child_process';
import { once } from 'node:events';

/** Seconds. A file that is still there then has something open, which is a failure too; tests end by their own limits before. */
const longest = 420;

/** Embedded databases of tests live too shortly for the slow compiler of WebAssembly to pay: with the quick one a file takes a quarter less. */
const flags = ['--liftoff-only'];

export interface Outcome {
  passed: number;
  failed: number;
}

/**
 * Runs test files, each as a process of its own, so many at a time. `tap run` would do the same, but load into each process,
 * and into each that a test starts, what counts coverage: a second of work for each, for what nobody asked for.
 */
export async function runFiles(files: string[], jobs: number, env: Record<string, string>): Promise<Outcome> {
  const waiting = [...files];
  const all: Outcome = { passed: 0, failed: 0 };
  async function work() {
    for (let file = waiting.shift(); file; file = waiting.shift()) {
      const { passed, failed } = await runFile(file, env);
      all.passed += passed;
      all.failed += failed;
    }
  }
  await Promise.all(Array.from({ length: jobs }, work));
  return all;
}

async function runFile(file: string, env: Record<string, string>): Promise<Outcome> {
  const started = performance.now();
  const child = spawn(process.execPath, [...flags, file], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, TAP_TIMEOUT: '240', ...env },
    timeout: longest * 1000,
    killSignal: 'SIGKILL',
  });
  let said = '';
  child.stdout.setEncoding('utf8').on('data', text => {
    said += text;
  });
  const [code, signal] = await once(child, 'close');
  const outcome = outcomeOf(said, code);
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  console.log(`${outcome.failed > 0 ? 'FAILED' : 'ok    '} ${seconds.padStart(5)} s  ${file}`);
  if (outcome.failed > 0)
    console.log(failuresOf(said) || `It ended with ${code ?? signal}:\n${said.slice(-4000)}`);
  return outcome;
}

/** What a file counted itself. One that broke off, leaked or took too long did not count that. */
function outcomeOf(said: string, code: number | null): Outcome {
  const summary = /^# \{ total: \d+(?:, pass: (\d+))?(?:, fail: (\d+))?/m.exec(said);
  const complete = code === 0 && /^1\.\.\d+/m.test(said);
  return { passed: Number(summary?.[1] ?? 0), failed: Number(summary?.[2] ?? 0) || (complete ? 0 : 1) };
}

/** What failed, each with the lines that say how. */
function failuresOf(said: string): string {
  const failed = /^( *)not ok .*(?:\n\1 {2}---\n[\s\S]*?\n\1 {2}\.\.\.)?/gm;
  return [...said.matchAll(failed)].map(([text]) => text.slice(0, 4000)).join('\n');
}
