import { globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';

export type Suite = 'embedded' | 'postgres' | 'e2e';

/** These measure how long several processes take to answer under load: nothing runs beside them. */
export const runsAlone = (file: string) =>
  /e2e\/(cluster\/(cluster|redis)|(storage|webhooks)\/outage)\.test\.ts$/.test(file);

/** These take longest and come first, so that no core waits for one of them at the end. */
const long =
  /(contributing|retries|seed|fuzz|e2e\/(storage\/\w+|process\/(shutdown|start|commands)|webhooks\/kill))\.test\.ts$/;

/**
 * These set up tracing for their process, watch for errors that nothing handles, or move the clock:
 * ids never step back in a process, so those of later tests would lie in the future.
 */
const changes =
  /(telemetry\/tracing|database\/driver\/\w+|core\/ids|services\/(audit|logs)|access\/(keys|table)|webhooks\/(receiving|retries|overlaps|replays))\.test\.ts$/;
export const changesProcess = (file: string) => changes.test(file);

/** The test files of a suite, in their order. What needs no database runs with the first of the two backends only. */
export function filesOf(suite: Suite): string[] {
  const files =
    suite === 'e2e'
      ? globSync('test/e2e/**/*.test.ts')
      : globSync('test/**/*.test.ts', { exclude: ['test/e2e/**'] });
  return files
    .filter(file => suite !== 'postgres' || imports(file, 'test/helper/database.ts'))
    .toSorted((a, b) => Number(long.test(b)) - Number(long.test(a)));
}

/** Whether a file of the tests imports another one, directly or through others. */
function imports(file: string, target: string, seen = new Set<string>()): boolean {
  if (file === target) return true;
  if (seen.has(file) || !file.startsWith('test/')) return false;
  seen.add(file);
  const names = readFileSync(file, 'utf8').matchAll(/ from '(\.[^']+)'/g);
  return [...names].some(([, name = '']) => imports(normalize(join(dirname(file), name)), target, seen));
}
