import { createReadStream, existsSync, readFileSync, statSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { gunzipSync } from 'node:zlib';
import { type Io, mainOf, UsageError } from '#src/command.ts';
import { OperatorError } from '#src/core/errors.ts';
import { inWords, ticking, timeLeft } from '#src/core/progress.ts';
import { openEmbedded } from '#src/database/embedded/embedded.ts';
import { refuseOtherEncodings } from '#src/database/migrations/migrations.ts';
import { connectTo, pooledConnection } from '#src/database/postgres/client.ts';
import { commandLog, withDatabase } from './lib/database.ts';
import { runPgTool } from './lib/pgTools.ts';

const usage = `npm run restore -- <file>: restores a backup into the database of the settings, which must be empty, and migrates it.

Example: DATABASE_URL=postgres://user:password@host:5432/empty npm run restore -- monday.backup`;

async function restore({ positionals: [file] }: { positionals: string[] }, io: Io) {
  if (!file) throw new UsageError('Name the backup');
  if (!existsSync(file)) throw new OperatorError(`There is no file ${file}.`);
  const settings = io.settings();
  const { DATABASE_URL: url, DATA_DIR: folder } = settings;
  await refuseUnlessFrom(url ? 'PostgreSQL' : 'embedded', file);
  if (url) {
    await refuseUnlessUsable(url);
    await restoreInto(url, file, io);
    // Opening the database migrates it.
    await withDatabase(settings, io, async () => {});
  } else {
    const opening = () => openEmbedded({ folder, snapshot: readSnapshot(file) }, commandLog());
    const database = await ticking(seconds => io.progress(`Restoring ${file}, ${inWords(seconds)}`), opening);
    await database.close();
  }
  io.out(`Restored from ${file}.`);
  if (!url)
    io.out(
      `Signing secrets are not in a backup: copy webhook-secrets.json to ${folder}, or set WEBHOOK_SECRETS.`,
    );
}

const mebibytes = (bytes: number) => (bytes / 2 ** 20).toFixed(1);

/** Feeds the file to `pg_restore`, to know how much of it was read. */
async function restoreInto(url: string, file: string, io: Io): Promise<void> {
  // Restores in one transaction, without the owners and grants of the old server.
  const how = ['--single-transaction', '--exit-on-error', '--no-owner', '--no-privileges'];
  const [input, { size }, started] = [createReadStream(file), statSync(file), Date.now()];
  let readUntil = 0;
  const show = (seconds: number) => {
    const share = input.bytesRead / size;
    if (share < 1) readUntil = seconds;
    const place = `${mebibytes(input.bytesRead)} of ${mebibytes(size)} MiB`;
    if (share < 1) io.progress(place + timeLeft(share, Date.now() - started), share);
    // The indexes and constraints are at the end of a backup, and take no bytes.
    else io.progress(`All is read. Building indexes and checking, ${inWords(seconds - readUntil)}`);
  };
  await ticking(show, () => runPgTool('pg_restore', how, url, io, input));
}

/** Refuses a backup of the other kind of database, which this kind cannot read. */
async function refuseUnlessFrom(kind: 'PostgreSQL' | 'embedded', file: string): Promise<void> {
  await using handle = await open(file);
  const { buffer } = await handle.read(Buffer.alloc(5));
  const begins = buffer.toString('latin1');
  const found = begins === 'PGDMP' ? 'PostgreSQL' : begins.startsWith('\x1f\x8b') ? 'embedded' : undefined;
  if (found === kind) return;
  if (found === undefined) throw new OperatorError(`${file} is not a backup.`);
  throw new OperatorError(
    found === 'embedded'
      ? `${file} is a backup of an embedded database. Restore it without DATABASE_URL, into a DATA_DIR.`
      : `${file} is a backup of a PostgreSQL server. Set DATABASE_URL to an empty database.`,
  );
}

/** Decompresses the file first: if it is cut off, PGlite leaves a rejection unhandled, which ends the process. */
function readSnapshot(file: string): Blob {
  const bytes = readFileSync(file);
  try {
    gunzipSync(bytes);
  } catch (error) {
    throw new OperatorError(`${file} is damaged: ${(error as Error).message}.`);
  }
  return new Blob([bytes]);
}

const anyTable = `select schemaname || '.' || tablename from pg_tables
  where schemaname not in ('pg_catalog', 'information_schema') limit 1`;

async function refuseUnlessUsable(url: string): Promise<void> {
  const pool = connectTo({ url, connections: 1 });
  const db = pooledConnection(pool);
  try {
    await refuseOtherEncodings(db);
    const [[table] = []] = await db.rows(anyTable, []);
    if (table !== undefined) throw new OperatorError(`The database is not empty: it has the table ${table}.`);
  } finally {
    await pool.close();
  }
}

export const main = await mainOf(import.meta, { usage, most: 1, run: restore });
