import { globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';

export type Suite = 'embedded' | 'postgres' | 'e2e' | 'nightly' | 'citus';

/** These measure response times under load, or make much, so they run last, with few others. */
export const measuresTimes = (file: string) =>
  /(e2e\/(cluster\/(cluster|redis)|process\/shutdown|storage\/outage|changes\/(readers|resume)|writes\/keys|webhooks\/instances)|nightly\/(chaos|hostile)|database\/(locks|driver\/connecting)|limits\/limits|rest\/conflicts|http\/pressure|webhooks\/overlaps)\.test\.ts$/.test(
    file,
  );

/** The longest files run first, so that none of them runs by itself at the end. */
const long =
  /(guides|retries|fuzz|connecting|limits|image|e2e\/(pages|storage)\/\w+|(kill|command))\.test\.ts$/;

/**
 * These set up tracing, listen for unhandled errors, declare resources, or move the clock: ids never step back in a
 * process, so those of later tests would lie in the future.
 */
const changes =
  /(telemetry\/tracing|database\/driver\/\w+|core\/ids|services\/(audit|deletions|names)|access\/(keys|table)|webhooks\/(effects|retries|overlaps|replays|trimming))\.test\.ts$/;
export const changesProcess = (file: string) => changes.test(file);

/** These run once: the pages show the embedded database, and the fuzz tests take long, because they try all operations. The doctor examines a server, too. */
const onEmbedded =
  /^test\/(config\/|core\/|docs\/|scripts\/(?!doctor))|(database\/embedded|rest\/fuzz)\.test\.ts$/;
/** So do these: they are about HTTP, or have many rows, and a server makes a new database in a third of the time. */
const onPostgres = /^test\/(access\/|http\/[^/]+$|telemetry\/|graphql\/\w+\/|rest\/dearLists)/;

/** What callers and operators see, which must be the same on a distributed database. */
const onCitus =
  /^test\/((changes|rest|graphql|resources|webhooks|access|services\/subscriptions)\/|database\/migrations)/;

/** The test files of a suite in order. What is stored, read and changed is tested on each database; the rest on one. */
export function filesOf(suite: Suite): string[] {
  return allOf(suite).toSorted((a, b) => Number(long.test(b)) - Number(long.test(a)));
}

function allOf(suite: Suite): string[] {
  if (suite === 'e2e' || suite === 'nightly') return globSync(`test/${suite}/**/*.test.ts`);
  const files = globSync('test/**/*.test.ts', { exclude: ['test/e2e/**', 'test/nightly/**'] });
  const opensDatabase = (file: string) => !onEmbedded.test(file) && imports(file, 'test/helper/database.ts');
  if (suite === 'embedded') return files.filter(file => !onPostgres.test(file) || !opensDatabase(file));
  return files.filter(opensDatabase).filter(file => suite !== 'citus' || onCitus.test(file));
}

/** Whether a test file imports another file, directly or indirectly. */
function imports(file: string, target: string, seen = new Set<string>()): boolean {
  if (file === target) return true;
  if (seen.has(file) || !file.startsWith('test/')) return false;
  seen.add(file);
  const names = readFileSync(file, 'utf8').matchAll(/ from '(\.[^']+)'/g);
  return [...names].some(([, name = '']) => imports(normalize(join(dirname(file), name)), target, seen));
}
