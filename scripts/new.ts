import { execFileSync } from 'node:child_process';
import { globSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { type Arguments, type Io, mainOf } from '../src/command.ts';
import { OperatorError } from '../src/core/errors.ts';
import { countedOf, filesOf, withResource } from './lib/resource/files.ts';
import { refuseTakenNames } from './lib/resource/names.ts';
import { type Plan, planOf } from './lib/resource/plan.ts';

const usage = `npm run new -- <name> [--belongs-to …] [--fields …] [--owner …] [--private] [--plural …]: writes a new resource: schema, table,
migration, service and tests, ready to edit, and one line in src/resources.ts. What is refused leaves nothing behind. Commit your work
first: then git restore . && git clean -df undoes it. A database in which the service was started since keeps the table: drop it
there, or the same name fails.

  --fields      names with a type: string, text (long), integer, number, boolean, time, date, json, or the words of an enum, of
                which the first is the default. With ? it may be null; with :unique no two records have the same
  --belongs-to  the resources that each record belongs to, such as post,user; with a name, author=user,editor=user;
                of its own kind, parent=comment?. Two of them and no field join two resources
  --owner       the user in --belongs-to whose a record is: with the scope own they may change it
  --private     only the owner may read it, besides callers with the scope read
  --plural      the plural of the name, when it is not the usual one

Example: npm run new -- invoice --belongs-to user --fields 'number:string:unique,amount:integer,status:draft|sent|paid,dueAt:time?'`;

const options = {
  'belongs-to': { type: 'string' },
  fields: { type: 'string' },
  plural: { type: 'string' },
  owner: { type: 'string' },
  private: { type: 'boolean' },
} as const;

async function writeResource({ values, positionals: [name] }: Arguments<typeof options>, io: Io) {
  const plan = planOf(name, values);
  const files = filesOf(plan);
  const list = withResource(plan, readFileSync('src/resources.ts', 'utf8'));
  refuseTakenNames(plan, files, list);
  const undo = remember([...Object.keys(files), ...changed]);
  let migration: string;
  try {
    migration = writeAll(plan, files, list);
  } catch (error) {
    undo();
    throw error;
  }
  for (const path of [migration, ...Object.keys(files)].sort()) io.out(path);
  io.out('Also changed: src/resources.ts, openapi.yaml, schema.graphql and drizzle/migrations/meta.');
  if (!plan.isPrivate && plan.parents.some(({ resource }) => resource.isPrivate))
    io.out(
      `Everybody who may read sees each ${plan.noun}, although what it belongs to is private: see --private.`,
    );
  io.out(`Start the service again: then there is /api/${plan.path}.`);
}

/** The files that a new resource changes. */
const changed = ['src/resources.ts', 'openapi.yaml', 'schema.graphql', 'drizzle/migrations/**/*.*'];

/** Notes what files contain. The function puts that back: half a resource would keep the service from starting. */
function remember(patterns: string[]): () => void {
  const before = new Map(globSync(patterns).map(path => [path, readFileSync(path)]));
  return () => {
    for (const path of globSync(patterns).filter(path => !before.has(path))) rmSync(path);
    for (const [path, content] of before) writeFileSync(path, content);
  };
}

/** Writes the files, and what is made from them. Returns the path of the migration. */
function writeAll(plan: Plan, files: Record<string, string>, list: string): string {
  const written = { ...files, 'src/resources.ts': list };
  for (const [path, text] of Object.entries(written)) writeFileSync(path, text);
  run('biome', 'lint', '--write', '--unsafe', '--only=noUnusedImports', ...Object.keys(files));
  run('biome', 'check', '--write', ...Object.keys(written));
  run('drizzle-kit', 'generate', '--config', 'drizzle/drizzle.config.ts', '--name', plan.table);
  // The newest: an older one may have a name that ends the same.
  const migration = globSync(`drizzle/migrations/*_${plan.table}.sql`).toSorted().at(-1) ?? '';
  writeFileSync(migration, withTotals(plan, readFileSync(migration, 'utf8')));
  // Here the service is put together, and refuses names that mean something else.
  run('node', 'scripts/generate.ts');
  return migration;
}

/** What drizzle-kit wrote, and the totals that it does not know of. */
const withTotals = (plan: Plan, sql: string) => `-- The table is new, so nothing below holds a lock for long.
${sql}
-- Keeps exact totals, and the start of any page.
select list_watch('${plan.table}', '{${countedOf(plan).map(({ column }) => column)}}');
`;

function run(...[program, ...args]: [string, ...string[]]): void {
  try {
    execFileSync(program, args, { stdio: 'pipe' });
  } catch (error) {
    const { stdout, stderr } = error as { stdout: Buffer; stderr: Buffer };
    const reason = `${stdout}${stderr}`.trim();
    throw new OperatorError(`${reason}\n${program} failed, so everything is as it was.`);
  }
}

export const main = await mainOf(import.meta, { usage, options, most: 1, run: writeResource });
