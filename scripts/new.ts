import { execFileSync } from 'node:child_process';
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { type Given, runCommand } from '../src/command.ts';
import { OperatorError } from '../src/core/errors.ts';
import { graphqlFile, routesFile, schemaFile } from './lib/resource/contract.ts';
import { type Plan, planOf } from './lib/resource/plan.ts';
import { migrationFile, serviceFile, tableFile } from './lib/resource/storage.ts';
import { graphqlTestFile, restTestFile } from './lib/resource/tests.ts';

const undo = 'git restore . && git clean -df';
const usage = `npm run new -- <name> [--belongs-to …] [--fields …] [--plural …]: writes a new resource with its schemas, table, migration,
service, routes, GraphQL fields and tests, ready to edit, and adds it to src/resources.ts. Commit your work first: then
${undo} undoes it.

  --belongs-to  the resources that each record belongs to
  --fields      names with a type: string, integer or boolean
  --plural      the plural of the name, when it is not the usual one

Example: npm run new -- comment --belongs-to post,user --fields text:string`;

const options = {
  'belongs-to': { type: 'string' },
  fields: { type: 'string' },
  plural: { type: 'string' },
} as const;

async function writeResource({ values, positionals: [name] }: Given<typeof options>) {
  const plan = planOf(name, values);
  const files = {
    [`schemas/${plan.name}.ts`]: schemaFile(plan),
    [`drizzle/tables/${plan.plural}.ts`]: tableFile(plan),
    [`src/services/${plan.plural}.ts`]: serviceFile(plan),
    [`plugins/rest/${plan.plural}.ts`]: routesFile(plan),
    [`plugins/graphql/resources/${plan.plural}.ts`]: graphqlFile(plan),
    [`test/rest/${plan.plural}.test.ts`]: restTestFile(plan),
    [`test/graphql/${plan.plural}.test.ts`]: graphqlTestFile(plan),
    'src/resources.ts': listed(plan),
  };
  for (const [path, text] of Object.entries(files))
    writeFileSync(path, text.replace(/\n{3,}/g, '\n\n').trimStart());
  run('biome', 'check', '--write', ...Object.keys(files));
  run('drizzle-kit', 'generate', '--config', 'drizzle/drizzle.config.ts', '--name', plan.plural);
  // The newest: an older one may have a name that ends the same.
  const migration = globSync(`drizzle/migrations/*_${plan.plural}.sql`).toSorted().at(-1) ?? '';
  // What drizzle-kit wrote, commented and with its totals.
  writeFileSync(migration, migrationFile(plan));
  run('node', 'scripts/generate.ts');
  for (const path of [migration, ...Object.keys(files)].sort()) console.log(path);
  console.log('Also changed: src/resources.ts, openapi.yaml, schema.graphql and drizzle/migrations/meta.');
  console.log(`Start the service again: then there is /api/${plan.plural}.`);
}

/** The list of resources with the new one, after the records that clients write. */
function listed({ name, plural, Type }: Plan): string {
  const list = readFileSync('src/resources.ts', 'utf8');
  const imports = `import { ${plural} } from '../plugins/graphql/resources/${plural}.ts';
import { ${name}Routes } from '../plugins/rest/${plural}.ts';
import { ${Type} } from '../schemas/${name}.ts';
import { ${name} } from './services/${plural}.ts';
`;
  const entry = `  { name: '${plural}', kind: ${name}, record: ${Type}, routes: ${name}Routes, graphql: ${plural} },\n`;
  const place = '  // Webhooks write them.\n';
  if (!list.includes(place)) throw new OperatorError(`src/resources.ts has no line "${place.trim()}"`);
  return imports + list.replace(place, entry + place);
}

function run(...[program, ...args]: [string, ...string[]]): void {
  try {
    execFileSync(program, args, { stdio: 'pipe' });
  } catch (error) {
    const { stdout, stderr } = error as { stdout: Buffer; stderr: Buffer };
    throw new OperatorError(`${program} failed; to undo it: ${undo}\n${stdout}${stderr}`);
  }
}

await runCommand({ usage, options, most: 1, run: writeResource });
