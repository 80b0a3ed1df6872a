import { fileURLToPath } from 'node:url';
import { readMigrationFiles } from '../../../drizzle/orm.ts';
import { OperatorError } from '../../core/errors.ts';
import type { Connection } from '../connection.ts';
import { readCommitted, withoutTimeouts } from '../transaction.ts';

const migrationsFolder = fileURLToPath(new URL('../../../drizzle/migrations', import.meta.url));

/** Any constant: every process that migrates takes this lock. */
const migrationLock = 7_283_451;

/**
 * Brings the database up to date. Of two instances that start at once, the second waits for the lock. It ends with the
 * transaction: a killed process leaves none behind, also through a pooler. Drizzle's own function would open a transaction
 * of its own; its table is the same.
 */
export async function migrate(db: Connection): Promise<void> {
  await refuseOtherEncodings(db);
  await db.transaction(async inside => {
    await readCommitted(inside);
    // Waiting for another instance, or building an index on a large table, may take longer than a request.
    await withoutTimeouts(inside);
    await inside.rows('select pg_advisory_xact_lock($1)', [migrationLock]);
    await runMigrations(inside);
  });
}

const table = 'drizzle.__drizzle_migrations';

async function runMigrations(inside: Connection): Promise<void> {
  // Citus sends this to all nodes, also where the schema is there.
  const [[exists] = []] = await inside.rows(`select to_regnamespace('drizzle')`, []);
  if (exists === null) await inside.rows('create schema drizzle', []);
  await inside.rows(
    `create table if not exists ${table} (id serial primary key, hash text not null, created_at bigint)`,
    [],
  );
  const [[last] = []] = await inside.rows(`select max(created_at) from ${table}`, []);
  for (const { sql: statements, hash, folderMillis } of readMigrationFiles({ migrationsFolder })) {
    if (folderMillis <= Number(last ?? 0)) continue;
    for (const text of statements) await inside.rows(text, []);
    await inside.rows(`insert into ${table} (hash, created_at) values ($1, $2)`, [hash, folderMillis]);
  }
}

/** How many migrations the next start runs, and whether a newer release has been here. Changes nothing. */
export async function migrationState(db: Connection): Promise<{ pending: number; isNewer: boolean }> {
  const [[exists] = []] = await db.rows(`select to_regclass('${table}')::text`, []);
  const [[last] = []] = exists ? await db.rows(`select max(created_at) from ${table}`, []) : [];
  const known = readMigrationFiles({ migrationsFolder }).map(({ folderMillis }) => folderMillis);
  const applied = Number(last ?? 0);
  return { pending: known.filter(time => time > applied).length, isNewer: applied > Math.max(...known) };
}

/** SQL_ASCII counts bytes where we promise characters, and other encodings lack most characters. */
export async function refuseOtherEncodings(db: Connection): Promise<void> {
  const [[encoding] = []] = await db.rows(`select current_setting('server_encoding')`, []);
  if (encoding === 'UTF8') return;
  throw new OperatorError(
    `The database is encoded in ${encoding} and must be in UTF8. Create one with: create database triport encoding 'UTF8' template template0`,
  );
}
