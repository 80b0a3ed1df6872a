import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { registerHooks } from 'node:module';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import type * as Tap from 'tap';
import { exit } from '#src/process/exit.ts';
import type { TestFile } from './files.ts';

/**
 * Runs the test files that the parent process sends, one after the other. They load the application once:
 * in separate processes, loading would take longer than the tests.
 */

export interface Result {
  file: string;
  passed: number;
  failed: number;
  /** What the tests print in the Test Anything Protocol. */
  output: string;
}

/** What shows, besides an assertion, that a file goes on: it starts a process, or has an answer to its request. */
const signsOfLife = ['child_process', 'http.client.response.finish'];
/** Milliseconds without a sign after which a file fails: it waits for what never comes. */
const longestSilence = ({ path, words }: TestFile) =>
  // A process may need a minute to make its database while others make theirs.
  words.includes('patient') ? 600_000 : /^test\/(e2e|nightly)/.test(path) ? 180_000 : 60_000;
/** Milliseconds that a file has after its last test to close what it opened. */
const closingTime = 30_000;

const tests = new Map<string, Tap.Test>();

/** What tap would find lost errors by watches each promise, which takes a tenth of the time of all tests. */
const noDomain = 'export class Domain { destroy() {} }';

// Each file that imports tap gets its own test as `t`; run directly, it gets the one of the process.
registerHooks({
  resolve(specifier, context, next) {
    const { parentURL = '' } = context;
    if (specifier === 'async-hook-domain') return { url: 'tap:', shortCircuit: true };
    if (specifier !== 'tap' || !tests.has(parentURL)) return next(specifier, context);
    return { url: `tap:${parentURL}`, shortCircuit: true };
  },
  load(url, context, next) {
    if (!url.startsWith('tap:')) return next(url, context);
    const source = `export default globalThis.testOf(${JSON.stringify(url.slice(4))});`;
    return { format: 'module', shortCircuit: true, source: url === 'tap:' ? noDomain : source };
  },
});
Object.assign(globalThis, { testOf: (url: string) => tests.get(url) });
const { Test } = await import('tap');

async function runFile(given: TestFile): Promise<Result> {
  const { path: file } = given;
  const url = pathToFileURL(file).href;
  const openBefore = process.getActiveResourcesInfo();
  const silence = longestSilence(given);
  const options: Tap.TestOpts = { name: file, timeout: silence };
  const test = new Test(options);
  test.cb = () => import(url);
  tests.set(url, test);
  const goesOn = () => {
    test.setTimeout(silence);
    process.send?.('goes on');
  };
  for (const sign of signsOfLife) subscribe(sign, goesOn);
  // An error that nobody waits for fails the test that runs, unless that listens for such errors itself.
  const failBy = (event: string) => (thrown: unknown) => {
    if (process.listenerCount(event) > 1) return;
    const error = thrown instanceof Error ? thrown : new Error(String(thrown));
    innermost(test).threw(Object.assign(error, { tapCaught: event }));
  };
  const lost = ['uncaughtException', 'unhandledRejection'].map(event => ({ event, fail: failBy(event) }));
  for (const { event, fail } of lost) process.on(event, fail);
  let output = '';
  test.on('data', text => {
    output += text;
    goesOn();
  });
  await new Promise<void>(resolve => test.runMain(resolve));
  for (const sign of signsOfLife) unsubscribe(sign, goesOn);
  for (const { event, fail } of lost) process.off(event, fail);
  // Ends the timer of the test, which would keep running.
  test.setTimeout(0);
  const stillOpen = await waitUntilClosed(openBefore);
  if (stillOpen.length > 0) output += `\nnot ok - everything is closed, except ${stillOpen.join(', ')}\n`;
  const { total, pass, fail } = test.counts;
  const complete = test.results?.ok && total > 0 && stillOpen.length === 0;
  return { file, passed: pass, failed: fail || (complete ? 0 : 1), output };
}

/** The test that runs, inside of the others. */
function innermost(test: Tap.Test): Tap.Test {
  const [running] = test.activeSubtests as Set<Tap.Test>;
  return running ? innermost(running) : test;
}

/** Waits until the file has closed its resources, and returns those still open at the deadline. */
async function waitUntilClosed(openBefore: string[]): Promise<string[]> {
  for (const end = Date.now() + closingTime; ; await sleep(10)) {
    const before = [...openBefore];
    const stillOpen = process.getActiveResourcesInfo().filter(kind => {
      const index = before.indexOf(kind);
      if (index >= 0) before.splice(index, 1);
      return index < 0;
    });
    if (stillOpen.length === 0 || Date.now() > end) return stillOpen;
  }
}

process.on('message', async (file: TestFile) => process.send?.(await runFile(file)));
process.on('disconnect', () => exit(0));
// `process.exit` emits `exit`, whose listeners end the servers that tests have started.
process.on('SIGINT', () => process.exit(1));
