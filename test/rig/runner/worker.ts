import { registerHooks } from 'node:module';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { Test, type TestOpts } from 'tap';

/**
 * Runs test files, one after the other, as the parent process names them. They load the application once:
 * in a process of its own, a file spends more time on loading than on its tests.
 */

export interface Result {
  file: string;
  passed: number;
  failed: number;
  /** In the Test Anything Protocol. */
  output: string;
}

/** Milliseconds. A file may set another limit; a test that hangs fails, and the next one runs. */
const timeout = 240_000;
/** Milliseconds in which a file closes what it opened, after its last test. */
const closingTime = 30_000;

const tests = new Map<string, Test>();

// Each file that imports tap gets a test of its own as `t`. Run by itself, it gets the one of its process.
registerHooks({
  resolve(specifier, context, next) {
    const { parentURL = '' } = context;
    if (specifier !== 'tap' || !tests.has(parentURL)) return next(specifier, context);
    return { url: `tap:${parentURL}`, shortCircuit: true };
  },
  load(url, context, next) {
    if (!url.startsWith('tap:')) return next(url, context);
    const source = `export default globalThis.testOf(${JSON.stringify(url.slice(4))});`;
    return { format: 'module', shortCircuit: true, source };
  },
});
Object.assign(globalThis, { testOf: (url: string) => tests.get(url) });

async function runFile(file: string): Promise<Result> {
  const url = pathToFileURL(file).href;
  const openBefore = process.getActiveResourcesInfo();
  const options: TestOpts = { name: file, timeout };
  const test: Test = new Test(options);
  test.cb = () => import(url);
  tests.set(url, test);
  let output = '';
  test.on('data', text => {
    output += text;
  });
  await new Promise<void>(resolve => test.runMain(resolve));
  // Its timer would go on.
  test.setTimeout(0);
  const stillOpen = await waitUntilClosed(openBefore);
  if (stillOpen.length > 0) output += `\nnot ok - everything is closed, except ${stillOpen.join(', ')}\n`;
  const { total, pass, fail } = test.counts;
  const complete = test.results?.ok && total > 0 && stillOpen.length === 0;
  return { file, passed: pass, failed: fail || (complete ? 0 : 1), output };
}

/** What would keep this process from ending and was not there before, once it is closed or the time is over. */
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

process.on('message', async (file: string) => process.send?.(await runFile(file)));
process.on('disconnect', () => process.exit());
