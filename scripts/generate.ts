import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import type { TSchema } from '@sinclair/typebox';
import { pino } from 'pino';
import { schemaText } from '../plugins/graphql/index.ts';
import { Settings } from '../schemas/settings.ts';
import { buildApp } from '../src/app.ts';
import { readSettings } from '../src/config/settings.ts';
import type { Database } from '../src/database/database.ts';

/** Writes the files that are made from the code; with --check it only says which are stale, and fails. */
const check = process.argv.includes('--check');
const stale: string[] = [];

function write(path: string, text: string): void {
  if ((existsSync(path) ? readFileSync(path, 'utf8') : '') === text) return;
  stale.push(path);
  if (!check) writeFileSync(path, text);
}

const variables = Object.entries(Settings.properties as Record<string, TSchema>);
const defaultOf = (schema: TSchema) => String(schema.default ?? '');

function envExample(): string {
  const entries = variables.map(([name, schema]) => {
    const also = schema.secret ? ` Also as ${name}_FILE, a path to read it from.` : '';
    const choice = schema.enum ? ` One of: ${schema.enum.join(', ')}.` : '';
    return `# ${(schema.description + choice + also).replaceAll('`', '')}\n#${name}=${defaultOf(schema)}\n`;
  });
  return `# Copy to .env and change what you need. Made by \`npm run generate\` from schemas/settings.ts.\n\n${entries.join('\n')}`;
}

function settingsTable(): string {
  const rows = variables.map(([name, schema]) => {
    const value = defaultOf(schema);
    const also = schema.secret ? ` Also as \`${name}_FILE\`.` : '';
    return `| \`${name}\` | ${value ? `\`${value}\`` : ''} | ${schema.description}${also} |`;
  });
  return ['| Variable | Default | What it does |', '|---|---|---|', ...rows].join('\n');
}

/** README.md holds the table between two comments. */
function readme(): string {
  const text = readFileSync('README.md', 'utf8');
  const place = /(<!-- settings -->\n)[\s\S]*?(\n<!-- \/settings -->)/;
  if (!place.test(text))
    throw new Error('README.md has no place for the table: <!-- settings --> … <!-- /settings -->');
  return text.replace(place, (_, start, end) => start + settingsTable() + end);
}

/** The document needs the routes only; no statement is sent, so no database is opened. */
async function openApi(): Promise<string> {
  const database = { kind: 'embedded', available: () => false } as Partial<Database> as Database;
  const app = await buildApp({
    settings: readSettings({ NODE_ENV: 'test' }),
    database,
    queue: { ready: Promise.resolve(), add: async () => {} },
    log: pino({ level: 'silent' }),
  });
  const yaml = app.swagger({ yaml: true });
  await app.close();
  return yaml;
}

write('.env.example', envExample());
write('README.md', readme());
write('openapi.yaml', await openApi());
write('schema.graphql', schemaText());

if (check && stale.length > 0) {
  console.error(`Stale: ${stale.join(', ')}. Run \`npm run generate\` and commit the result.`);
  process.exitCode = 1;
} else console.log(stale.length > 0 ? `Written: ${stale.join(', ')}` : 'Generated files are fresh.');
