import { globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';

export type Suite = 'embedded' | 'postgres' | 'citus' | 'e2e';

/** These measure response times under load, so they run last, with few others. */
export const measuresTimes = (file: string) =>
  /e2e\/(cluster\/(cluster|redis)|(storage|webhooks)\/outage|storage\/replicas)\.test\.ts$/.test(file);

/** The longest files run first, so that none of them runs alone at the end. */
const long =
  /(guides|retries|seed|fuzz|e2e\/(storage\/\w+|process\/(image|shutdown|start|commands)|webhooks\/kill))\.test\.ts$/;

/**
 * These set up tracing, listen for unhandled errors, declare resources, or move the clock: ids never step back in a process,
 * so those of later tests would lie in the future.
 */
const changes =
  /(telemetry\/tracing|database\/driver\/\w+|core\/ids|services\/(audit|deletions)|access\/(keys|table)|webhooks\/(effects|retries|overlaps|replays|trimming))\.test\.ts$/;
export const changesProcess = (file: string) => changes.test(file);

/** The first opens its own databases; what a request may be is the same on every database. */
const once = /(database\/embedded|rest\/fuzz)\.test\.ts$/;

const onServers: Suite[] = ['postgres', 'citus'];
/** What callers and operators see, which must be the same on a distributed database. */
const contract = /^test\/(rest|graphql|resources|webhooks|access|services\/subscriptions)\//;

/** The test files of a suite in order. Those to which the database makes no difference are in the embedded suite only. */
export function filesOf(suite: Suite): string[] {
  const files =
    suite === 'e2e'
      ? globSync('test/e2e/**/*.test.ts')
      : globSync('test/**/*.test.ts', { exclude: ['test/e2e/**'] });
  return files
    .filter(file => suite !== 'citus' || contract.test(file))
    .filter(
      file => !onServers.includes(suite) || (imports(file, 'test/helper/database.ts') && !once.test(file)),
    )
    .toSorted((a, b) => Number(long.test(b)) - Number(long.test(a)));
}

/** Whether a test file imports another file, directly or indirectly. */
function imports(file: string, target: string, seen = new Set<string>()): boolean {
  if (file === target) return true;
  if (seen.has(file) || !file.startsWith('test/')) return false;
  seen.add(file);
  const names = readFileSync(file, 'utf8').matchAll(/ from '(\.[^']+)'/g);
  return [...names].some(([, name = '']) => imports(normalize(join(dirname(file), name)), target, seen));
}
