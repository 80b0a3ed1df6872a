import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { readMigrationFiles } from '#drizzle/orm.ts';
import { serviceName } from '#schemas/name.ts';
import { OperatorError } from '#src/core/errors.ts';
import { inWords, type Report, sparsely, ticking } from '#src/core/progress.ts';
import type { Connection } from '#src/database/connection.ts';
import { databaseFailure, isOutage } from '#src/database/databaseErrors.ts';
import { inLongTransaction } from '#src/database/write.ts';
import type { Log } from '#src/telemetry/log.ts';

const migrationsFolder = fileURLToPath(new URL('../../../drizzle/migrations', import.meta.url));
const spreading = new URL('../../../drizzle/spread.sql', import.meta.url);

const notAllowed = '42501';

/** The advisory lock that every process that migrates takes. The number is arbitrary. */
const migrationLock = 7_283_451;

interface How {
  folder?: string;
  /** Gets how far the migrations are, again and again; without one, the log says it while they take long. */
  report?: Report | undefined;
}

/**
 * Brings the database up to date. A role that owns nothing may call it when nothing is pending. When two instances
 * start at once, the second waits for the lock. The lock ends with the transaction, so a killed process leaves none
 * behind, even through a pooler. Drizzle's own function would open another transaction; this one uses its table.
 */
export async function migrate(
  db: Connection,
  log?: Pick<Log, 'info' | 'warn'>,
  { folder, report = sparsely(text => log?.info(text)) }: How = {},
): Promise<void> {
  await refuseOtherEncodings(db);
  // Fails on a standby, as all writes would; the service tries again until the standby is promoted.
  await db.rows('select pg_current_xact_id()', []);
  await asOwner(db, async () => {
    const { pending, edited } = await migrationState(db, folder);
    // Waiting for another instance or building an index on a large table is slow.
    if (pending.length > 0) await inLongTransaction(db, inside => runMigrations(inside, report, folder));
    if (edited.length > 0) log?.warn(editedText(edited));
  });
}

export const editedText = (tags: string[]) =>
  `Migrations were edited after they ran here: ${tags.join(', ')}. Write a new one instead.`;

/** Does work that only the owner of the tables may do. The error for another role names the owner. */
async function asOwner<T>(db: Connection, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (databaseFailure(error)?.code !== notAllowed) throw error;
    throw new OperatorError(await whoMigrates(db, (error as Error).message));
  }
}

const table = 'drizzle.__drizzle_migrations';
const ofTable = `from pg_tables where schemaname || '.' || tablename = '${table}'`;

async function runMigrations(inside: Connection, report: Report, folder?: string): Promise<void> {
  await ticking(
    seconds =>
      seconds > 0 && report(`Another instance migrates the database: waiting for ${inWords(seconds)}.`),
    () => inside.rows('select pg_advisory_xact_lock($1)', [migrationLock]),
  );
  // Another instance may have been faster.
  const { pending } = await migrationState(inside, folder);
  // Citus would send `create schema if not exists` to all nodes every time, and fail while a node is down.
  const [[exists] = []] = await inside.rows(`select to_regnamespace('drizzle')`, []);
  if (exists === null) await inside.rows('create schema drizzle', []);
  await inside.rows(
    `create table if not exists ${table} (id serial primary key, hash text not null, created_at bigint)`,
    [],
  );
  const total = pending.flatMap(({ sql }) => sql).length;
  let number = 0;
  for (const { tag, sql: statements, hash, folderMillis } of pending) {
    for (const text of statements) {
      const share = number / total;
      const place = `Migration ${tag}: statement ${++number} of ${total}`;
      await ticking(
        seconds => report(`${place} has run for ${inWords(seconds)}.`, share),
        () => inside.rows(text, []),
      ).catch(error => {
        if (isOutage(error) || databaseFailure(error)?.code === notAllowed) throw error;
        throw new OperatorError(`The migration ${tag} cannot be applied: ${error.message}`, { cause: error });
      });
    }
    await inside.rows(`insert into ${table} (hash, created_at) values ($1, $2)`, [hash, folderMillis]);
  }
}

/**
 * Reads which migrations are missing, in the order of the journal and even if older than one that ran; the names of
 * those that ran with another text; and how many ran that this release does not have. Changes nothing.
 */
export async function migrationState(db: Connection, folder = migrationsFolder) {
  // `to_regclass` may answer from an outdated cache after the wait for the lock, so `pg_tables` is read.
  const [[exists] = []] = await db.rows(`select tablename ${ofTable}`, []);
  const applied = exists ? await db.rows(`select hash, created_at from ${table}`, []) : [];
  /** Takes a migration that ran off the list, so that it counts once: two migrations may have the same text. */
  const take = (column: number, value: unknown) => {
    const i = applied.findIndex(row => String(row[column]) === String(value));
    return i >= 0 && applied.splice(i, 1);
  };
  const missing = readMigrations(folder).filter(({ hash }) => !take(0, hash));
  const edited = missing.filter(({ folderMillis }) => take(1, folderMillis));
  const pending = missing.filter(each => !edited.includes(each));
  return { pending, edited: edited.map(({ tag }) => tag), others: applied.length };
}

function readMigrations(folder: string) {
  const { entries } = JSON.parse(readFileSync(`${folder}/meta/_journal.json`, 'utf8'));
  return readMigrationFiles({ migrationsFolder: folder }).map((file, i) => ({
    ...file,
    tag: entries[i].tag as string,
  }));
}

/** Tells a role that may not migrate who may: the owner of the tables or, if there are none, of the database. */
async function whoMigrates(db: Connection, reason: string): Promise<string> {
  const [[role, owner] = []] = await db.rows(
    `select current_user::text, coalesce((select tableowner ${ofTable}),
      pg_get_userbyid(datdba))::text from pg_database where datname = current_database()`,
    [],
  );
  return `The role ${role} may not migrate the database (${reason}): run \`npm run migrate\` as the role ${owner}. docs/running-many.md has the rights that ${role} needs to serve.`;
}

/** SQL_ASCII counts bytes where we promise characters, and other encodings lack most characters. */
export async function refuseOtherEncodings(db: Connection): Promise<void> {
  const [[encoding] = []] = await db.rows(`select current_setting('server_encoding')`, []);
  if (encoding === 'UTF8') return;
  throw new OperatorError(
    `The database is encoded in ${encoding} and must be in UTF8. Create one with: create database "${serviceName}" encoding 'UTF8' template template0`,
  );
}

/** Spreads the growing tables over the nodes of Citus, all or none; returns false if they were spread before. */
export async function spread(db: Connection): Promise<boolean> {
  const [[hasCitus] = []] = await db.rows(`select 1 from pg_extension where extname = 'citus'`, []);
  if (!hasCitus)
    throw new OperatorError(
      'The database has no Citus. On every node run `create extension citus` in it; docs/scaling.md has the steps.',
    );
  return asOwner(db, () => inLongTransaction(db, spreadTables));
}

async function spreadTables(inside: Connection): Promise<boolean> {
  // When two calls come at once, the second waits here.
  await inside.rows('lock table webhook_events', []);
  const [isSpread] = await inside.rows(
    `select 1 from pg_dist_partition where logicalrelid = 'webhook_events'::regclass and partmethod = 'h'`,
    [],
  );
  if (isSpread) return false;
  await inside.rows(readFileSync(spreading, 'utf8'), []);
  return true;
}
