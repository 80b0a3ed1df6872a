import { closeSync, existsSync, openAsBlob, openSync, readSync } from 'node:fs';
import { runCommand, UsageError } from '../src/command.ts';
import { loadSettings } from '../src/config/settings.ts';
import { OperatorError } from '../src/core/errors.ts';
import { type Log, openLog } from '../src/core/log.ts';
import { openEmbedded } from '../src/database/embedded/embedded.ts';
import { refuseOtherEncodings } from '../src/database/migrations/migrations.ts';
import { openDatabase } from '../src/database/open.ts';
import { connectionOf, connectTo } from '../src/database/postgres/client.ts';
import { runPgTool } from './lib/pgTools.ts';
import { announce } from './lib/progress.ts';

const usage = `npm run restore -- <file>: restores a backup into the database of the settings, which must be empty, and migrates it.

Example: DATABASE_URL=postgres://user:password@host:5432/empty npm run restore -- monday.backup`;

async function restore({ positionals: [file] }: { positionals: string[] }) {
  if (!file) throw new UsageError('Name the backup');
  if (!existsSync(file)) throw new OperatorError(`There is no file ${file}.`);
  const settings = loadSettings();
  const log = openLog({ LOG_LEVEL: 'warn' }, process.stdout.isTTY);
  const { DATABASE_URL: url, DATA_DIR: folder } = settings;
  refuseUnlessFrom(url ? 'PostgreSQL' : 'embedded', file);
  announce(`Restoring ${file}`);
  if (url) {
    await refuseUnlessUsable(url, log);
    // In one transaction, without the owners and grants of the old server.
    runPgTool(
      'pg_restore',
      ['--single-transaction', '--exit-on-error', '--no-owner', '--no-privileges', file],
      url,
    );
  }
  // Opening migrates it.
  const database = url
    ? await openDatabase(settings, log)
    : await openEmbedded({ folder, snapshot: await openAsBlob(file) }, log);
  await database.ready;
  await database.close();
  console.log(`Restored from ${file}.`);
  if (!url)
    console.log(
      `Signing secrets are not in a backup: copy webhook-secrets.json to ${folder}, or set WEBHOOK_SECRETS.`,
    );
}

/** The first bytes of a backup of each kind. Neither database can read the other's. */
const beginnings = { PostgreSQL: 'PGDMP', embedded: '\x1f\x8b' };

function refuseUnlessFrom(kind: keyof typeof beginnings, file: string): void {
  const bytes = Buffer.alloc(5);
  const open = openSync(file, 'r');
  readSync(open, bytes);
  closeSync(open);
  const begins = (text: string) => bytes.toString('latin1').startsWith(text);
  if (begins(beginnings[kind])) return;
  if (begins(beginnings.embedded))
    throw new OperatorError(
      `${file} is a backup of an embedded database. Restore it without DATABASE_URL, into a DATA_DIR.`,
    );
  if (begins(beginnings.PostgreSQL))
    throw new OperatorError(
      `${file} is a backup of a PostgreSQL server. Set DATABASE_URL to an empty database.`,
    );
  throw new OperatorError(`${file} is not a backup.`);
}

const anyTable = `select schemaname || '.' || tablename from pg_tables
  where schemaname not in ('pg_catalog', 'information_schema') limit 1`;

async function refuseUnlessUsable(url: string, log: Log): Promise<void> {
  const pool = connectTo({ url, connections: 1 }, log);
  const db = connectionOf(pool);
  try {
    await refuseOtherEncodings(db);
    const [[table] = []] = await db.rows(anyTable, []);
    if (table !== undefined) throw new OperatorError(`The database is not empty: it has the table ${table}.`);
  } finally {
    await pool.close();
  }
}

await runCommand({ usage, most: 1, run: restore });
