import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { OperatorError } from '#src/core/errors.ts';

export type Suite = 'embedded' | 'postgres' | 'e2e' | 'nightly' | 'citus';

const databases: Suite[] = ['embedded', 'postgres', 'citus'];
/** What callers and operators see must be the same on a distributed database. */
const servers: Suite[] = ['postgres', 'citus'];

/**
 * The suites in which the tests of a folder run. Most need one database only, and use a server: it makes a new database
 * in a third of the time. Those that also run on the embedded one send it every statement of the service together.
 */
const folders: Record<string, Suite[]> = {
  'test/': ['postgres'],
  'test/access/': servers,
  'test/changes/': servers,
  // The pages show the embedded one.
  'test/docs/': ['embedded'],
  'test/domain/': databases,
  'test/e2e/': ['e2e'],
  'test/effects/': servers,
  'test/graphql/': servers,
  'test/nightly/': ['nightly'],
  'test/rest/': servers,
  'test/scripts/': ['embedded'],
  'test/subscriptions/': servers,
  'test/webhooks/': servers,
};

/** What a test says in a line such as `// runs: long, on postgres`, and what that means. */
const words = {
  long: 'begins before the others, so that it does not run by itself at the end',
  patient: 'may be silent for ten minutes, not for one: a command works, or packages are fetched',
  late: 'runs after the others, beside few others: it measures times under load, or makes much',
  // Ids never step back in a process, so those of later tests would lie in the future.
  'in its own process':
    'sets up tracing, listens for unhandled errors, declares resources, moves the clock, or needs empty caches',
  'also on embedded': 'runs on this database besides those of its folder',
  'on embedded': 'runs on this database, and on no others than it names, whatever its folder says',
  'on postgres': 'the same',
  'on citus': 'the same',
};
type Word = keyof typeof words;

export interface TestFile {
  path: string;
  words: Word[];
}

/** Reads what a test file says of itself. */
function readTest(path: string): TestFile {
  const [, line] = /^\/\/ runs: (.*)$/m.exec(readFileSync(path, 'utf8')) ?? [];
  const said = line?.split(', ') ?? [];
  const unknown = said.find(word => !Object.hasOwn(words, word));
  if (unknown === undefined) return { path, words: said as Word[] };
  const known = Object.entries(words).map(([word, meaning]) => `  ${word}: ${meaning}`);
  throw new OperatorError(`${path} runs '${unknown}', and these words are known:\n${known.join('\n')}`);
}

/**
 * Returns the test files of each suite in order; `parts` restricts them to those whose path has one of the parts. A
 * whole path runs on any suite that is named with it.
 */
export function chooseTests(suites: Suite[], parts: string[]): { suite: Suite; tests: TestFile[] }[] {
  // Files with processes of their own follow each other: after one of them, another kind would need a new process, too.
  const order = ({ words }: TestFile) => {
    const [isLong, isAlone] = [words.includes('long'), words.includes('in its own process')];
    return [isLong && !isAlone, isLong, isAlone, true].indexOf(true);
  };
  const files = globSync('test/**/*.test.ts').map(readTest);
  const unknown = parts.find(part => !files.some(({ path }) => path.includes(part)));
  if (unknown !== undefined)
    throw new OperatorError(`No test has '${unknown}' in its path, and no suite is named so. See --help.`);
  const isChosen = ({ path }: TestFile) => parts.length === 0 || parts.some(part => path.includes(part));
  const chosen = files.filter(isChosen).toSorted((a, b) => order(a) - order(b));
  const runsOn = (suite: Suite) => (file: TestFile) =>
    suitesOf(file).includes(suite) || (suites.length > 0 && parts.includes(file.path));
  const usual: Suite[] = ['embedded', 'postgres'];
  const named = suites.length > 0 ? suites : parts.length > 0 ? [...usual, 'e2e' as const] : usual;
  const all = named.map(suite => ({ suite, tests: chosen.filter(runsOn(suite)) }));
  const runs = all.filter(({ tests }) => tests.length > 0);
  if (runs.length > 0) return runs;
  const elsewhere = [...new Set(chosen.flatMap(suitesOf))];
  const commands = elsewhere.map(suite => `npm test -- ${suite} ${parts.join(' ')}`);
  throw new OperatorError(`These tests run with: ${commands.join(' or ')}`);
}

/** A test of a database runs on each that its first line or its folder names; a test that needs none runs once. */
function suitesOf({ path, words }: TestFile): Suite[] {
  const named = databases.filter(suite => words.includes(`on ${suite}` as Word));
  if (named.length > 0) return named;
  // The last folder that matches is the innermost.
  const [, suites = []] = Object.entries(folders).findLast(([folder]) => path.startsWith(folder)) ?? [];
  if (!suites.some(suite => databases.includes(suite))) return suites;
  if (!imports(path, 'test/helper/database.ts')) return ['embedded'];
  return words.includes('also on embedded') ? ['embedded', ...suites] : suites;
}

/** Whether a test file imports another file, directly or indirectly. */
function imports(file: string, target: string, seen = new Set<string>()): boolean {
  if (file === target) return true;
  if (seen.has(file) || !file.startsWith('test/')) return false;
  seen.add(file);
  const names = readFileSync(file, 'utf8').matchAll(/ from '(#|\.)([^']+)'/g);
  return [...names].some(([, root, name = '']) =>
    imports(root === '#' ? name : join(dirname(file), `.${name}`), target, seen),
  );
}
