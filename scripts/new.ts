import { spawnSync } from 'node:child_process';
import { existsSync, globSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { setImmediate as turn } from 'node:timers/promises';
import { pino } from 'pino';
import { type Arguments, type Io, mainOf, UsageError } from '#src/command.ts';
import { OperatorError } from '#src/core/errors.ts';
import { openEmbedded } from '#src/database/embedded/embedded.ts';
import { countedFields, makeFiles, withResource } from './lib/resource/files.ts';
import { makePlan, type Plan, wordsOfService } from './lib/resource/plan.ts';

const usage = `npm run new -- <name> [--belongs-to …] [--fields …] [--search …] [--owner …] [--private] [--plural …]: writes a new resource: schema, table,
migration, service and tests, ready to edit, and one line in src/domain/resources.ts. What is refused leaves nothing behind. Commit your work
first: then git restore . && git clean -df undoes it. A database in which the service was started since keeps the table: drop it
there, or the same name fails.

  --fields      names with a type: string, text (long), email, integer, cents, number, boolean, time, date, json, or the words of an
                enum, of which the first is the default. With ? it may be null; with :unique no two records have the same
  --belongs-to  the resources that each record belongs to, such as order,user; with a name, author=user,editor=user;
                of its own kind, parent=note?. Two of them and no field join two resources
  --search      the strings and texts whose words a search finds (q), such as title,text
  --owner       the user in --belongs-to whose a record is: with the scope own they may change it
  --private     only the owner may read it, besides callers with the scope read
  --plural      the plural of the name, when it is not the usual one

Example: npm run new -- invoice --belongs-to user --fields 'number:string:unique,amount:cents,status:draft|sent|paid,dueAt:time?' --search number`;

const options = {
  'belongs-to': { type: 'string' },
  fields: { type: 'string' },
  search: { type: 'string' },
  plural: { type: 'string' },
  owner: { type: 'string' },
  private: { type: 'boolean' },
} as const;

async function writeResource({ values, positionals: [name] }: Arguments<typeof options>, io: Io) {
  const plan = makePlan(name, values);
  const files = makeFiles(plan);
  const existing = Object.keys(files).find(path => existsSync(path));
  if (existing) throw new UsageError(`The file ${existing} already exists: choose another name or --plural`);
  if (existsSync(`test/world/${plan.plural}.ts`))
    throw new UsageError(`The tests have ${plan.nouns} of their own, in test/world: choose another name`);
  const undo = remember([...Object.keys(files), ...changed]);
  let migration: string;
  try {
    migration = await writeAll(plan, files, io);
  } catch (error) {
    undo();
    if (error instanceof OperatorError) error.message += '\nEverything is as it was.';
    throw error;
  }
  for (const path of [migration, ...Object.keys(files)].sort()) io.out(path);
  io.out('Also changed: src/domain/resources.ts, openapi.yaml, schema.graphql and drizzle/migrations/meta.');
  if (!plan.isPrivate && plan.parents.some(({ resource }) => resource.isPrivate))
    io.out(
      `Everybody who may read sees each ${plan.noun}, although what it belongs to is private: see --private.`,
    );
  for (const meaning of wordsOfService(plan)) io.out(meaning);
  io.out(`Start the service again: then there is /api/${plan.path}.`);
}

/** The files that a new resource changes. */
const changed = [
  'src/domain/resources.ts',
  'drizzle/migrations/**/*.*',
  ...['openapi.yaml', 'schema.graphql', '.env.example', 'docs/settings.md'],
];

/** Returns a function that restores what files contain now: half a resource would keep the service from starting. */
function remember(patterns: string[]): () => void {
  const before = new Map(globSync(patterns).map(path => [path, readFileSync(path)]));
  return () => {
    for (const path of globSync(patterns).filter(path => !before.has(path))) rmSync(path);
    for (const [path, content] of before) writeFileSync(path, content);
  };
}

/** Writes the files and what is made from them, and tries both. Returns the path of the migration. */
async function writeAll(
  plan: Plan,
  files: Record<string, string>,
  { progress }: Pick<Io, 'progress'>,
): Promise<string> {
  const run = stepsUntilSignal(progress);
  const list = 'src/domain/resources.ts';
  const written = { ...files, [list]: withResource(plan, readFileSync(list, 'utf8')) };
  for (const [path, text] of Object.entries(written)) writeFileSync(path, text);
  const biome = ['--write', '--max-diagnostics=1'];
  await run('biome', 'lint', ...biome, '--unsafe', '--only=noUnusedImports', ...Object.keys(files));
  await run('biome', 'check', ...biome, ...Object.keys(written));
  await run('drizzle-kit', 'generate', '--name', plan.table);
  // Takes the newest, because the name of an older one may end the same way.
  const migration = globSync(`drizzle/migrations/*_${plan.table}.sql`).toSorted().at(-1);
  const sql = migration ? readFileSync(migration, 'utf8') : '';
  // If two tables have the same name, drizzle-kit sees only one.
  if (!migration || !sql.includes(`CREATE TABLE "${plan.table}"`))
    throw new OperatorError(`There is another table '${plan.table}': choose another name or --plural.`);
  writeFileSync(migration, withTotals(plan, sql));
  // Generating builds the service, which refuses names that mean something else.
  await run('node', 'scripts/generate.ts');
  // Runs all migrations, because only the database knows all tables.
  const database = await openEmbedded({}, pino({ level: 'silent' }));
  await database.close();
  // Checks the service without tests and scripts, which takes half the time.
  await run('tsc', '-p', 'scripts/lib/resource/compiled.json', '--checkers', '1');
  return migration;
}

/** Adds the totals, of which drizzle-kit does not know, to what it wrote. */
const withTotals = (plan: Plan, sql: string) => `-- The table is new, so nothing below holds a lock for long.
${sql}
-- Keeps exact totals, and the start of any page.
select list_watch('${plan.table}', '{${countedFields(plan).map(({ column }) => column)}}');
`;

/**
 * Returns a function that runs a program, and that throws after a signal, so that all is undone. Ctrl-C ends the
 * program, too.
 */
function stepsUntilSignal(progress: Io['progress']) {
  let ended: string | undefined;
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => (ended = signal));
  const check = (signal?: string | null) => {
    if (signal) throw new OperatorError(`Stopped by ${signal}.`);
  };
  return async (program: string, ...args: string[]): Promise<void> => {
    check(ended);
    const name = [program, ...args.slice(0, 1)].join(' ');
    progress(`${name} …`);
    const { error, status, signal, stdout, stderr } = spawnSync(program, args, { encoding: 'utf8' });
    if (error) throw new OperatorError(`${error.message}. Run it by npm run new.`);
    // Lets this process notice the signal.
    await turn();
    check(ended ?? signal);
    if (status !== 0) throw new OperatorError(`${name} failed:\n${firstLinesOf(stderr.trim() || stdout)}`);
  };
}

/** The first lines that a program has printed, without the stack of an error. */
const firstLinesOf = (output: string) =>
  output
    .replace(/\n\s+at [\s\S]*/, '')
    .split('\n')
    .slice(0, 12)
    .join('\n')
    .trim();

export const main = await mainOf(import.meta, { usage, options, most: 1, run: writeResource });
