import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import type { TSchema } from '@sinclair/typebox';
import { pino } from 'pino';
import { schemaText } from '#plugins/graphql/schema.ts';
import { Settings } from '#schemas/settings.ts';
import { buildApp } from '#src/app.ts';
import { type Arguments, type Io, mainOf } from '#src/command.ts';
import { readSettings } from '#src/config/settings.ts';
import { OperatorError } from '#src/core/errors.ts';
import type { Database } from '#src/database/database.ts';
import { domain } from '#src/domain/index.ts';
import { joinMigrations } from './lib/journal.ts';

const usage = `npm run generate [-- --check]: writes the files that are generated from the code. It also ends
the conflicts that a merge has left in them, and in the journal of migrations. With --check it writes nothing, and fails when one of
them is out of date.

Example: npm run generate`;

const options = { check: { type: 'boolean' } } as const;

const variables: [string, TSchema][] = Object.entries(Settings.properties);
const defaultText = (schema: TSchema) => String(schema.default ?? '');

const settingLines = (name: string, { description, enum: values, secret }: TSchema) =>
  [
    description,
    values && `One of: ${values.map((value: string) => `\`${value}\``).join(', ')}.`,
    secret && `Or \`${name}_FILE\`.`,
  ]
    .filter(Boolean)
    .join(' ');

function envExample(): string {
  const entries = variables.map(
    ([name, schema]) =>
      `# ${settingLines(name, schema).replaceAll('`', '')}\n#${name}=${defaultText(schema)}\n`,
  );
  const head =
    '# Copy to .env and change what you need. Generated from schemas/settings.ts by `npm run generate`.';
  return `${head}\n\n${entries.join('\n')}`;
}

const settingsList = () =>
  variables
    .map(([name, schema]) => {
      const value = defaultText(schema);
      return `- \`${name}\`${value && ` (\`${value}\`)`}: ${settingLines(name, schema)}`;
    })
    .join('\n');

/** docs/settings.md, with the list between its two markers renewed. */
function settingsPage(): string {
  const page = readFileSync('docs/settings.md', 'utf8');
  const list = /(<!-- settings -->\n)[\s\S]*?(\n<!-- \/settings -->)/;
  if (!list.test(page))
    throw new OperatorError('docs/settings.md has no <!-- settings --> … <!-- /settings -->.');
  return page.replace(list, (_, start, end) => start + settingsList() + end);
}

/** The document needs only the routes, so no database is opened. */
async function openApi(): Promise<string> {
  const database = { kind: 'embedded', available: () => false } as Partial<Database> as Database;
  const app = await buildApp({
    settings: readSettings({ NODE_ENV: 'test' }),
    database,
    log: pino({ level: 'silent' }),
  });
  const { swagger } = await app.documentWriter();
  const yaml = swagger({ yaml: true });
  await app.close();
  return yaml;
}

/** Two resources may use one name. That is not a bug, so it is reported without a stack. */
function graphqlSchema(): string {
  try {
    return schemaText(domain.fields);
  } catch (error) {
    throw new OperatorError(`The GraphQL schema cannot be made: ${(error as Error).message}`);
  }
}

async function generate({ values: { check } }: Arguments<typeof options>, io: Io) {
  const merged = await joinMigrations(check);
  const files = {
    '.env.example': envExample(),
    'docs/settings.md': settingsPage(),
    'openapi.yaml': await openApi(),
    'schema.graphql': graphqlSchema(),
  };
  const stale = Object.entries(files).filter(
    ([path, text]) => !existsSync(path) || readFileSync(path, 'utf8') !== text,
  );
  const names = [...merged, ...stale.map(([path]) => path)].join(', ');
  if (names === '') return io.out('The generated files are up to date.');
  if (check)
    throw new OperatorError(`Out of date: ${names}. Run \`npm run generate\` and commit the result.`);
  for (const [path, text] of stale) writeFileSync(path, text);
  io.out(`Written: ${names}`);
}

export const main = await mainOf(import.meta, { usage, options, run: generate });
