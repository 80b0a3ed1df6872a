import { fileURLToPath } from 'node:url';
import { type SQL, sql } from 'drizzle-orm';
import { readMigrationFiles } from 'drizzle-orm/migrator';
import { OperatorError } from '../core/operatorErrors.ts';
import { type Orm, runPrepared, withoutTimeouts } from './database.ts';

const migrationsFolder = fileURLToPath(new URL('../../drizzle/migrations', import.meta.url));

/** Any constant: whoever migrates takes this lock. */
const migrationLock = 7_283_451;

interface Internals {
  dialect: { migrate(files: unknown, session: object, config: object): Promise<void> };
  session: { execute(query: SQL): Promise<unknown>; all(query: SQL): Promise<unknown> };
}

/**
 * Brings the database up to date. Two instances may start at once on an empty database: the second waits
 * for the lock and then finds nothing to do. The lock ends with the transaction, so that a killed process
 * leaves none behind and a pooler in between does no harm.
 */
export async function migrate(db: Orm): Promise<void> {
  await refuseOtherEncodings(db);
  await db.transaction(async tx => {
    // Waiting for another instance, or building an index on a large table, may take longer than a request.
    await tx.execute(withoutTimeouts);
    await tx.execute(sql`select pg_advisory_xact_lock(${sql.raw(String(migrationLock))})`);
    // Drizzle's own migrate() opens a transaction of its own; this is what it calls, inside ours.
    const { dialect, session } = tx as unknown as Internals;
    const inside = {
      execute: (query: SQL) => session.execute(query),
      all: (query: SQL) => session.all(query),
      transaction: (work: Parameters<typeof tx.transaction>[0]) => tx.transaction(work),
    };
    await dialect.migrate(readMigrationFiles({ migrationsFolder }), inside, { migrationsFolder });
    // After a copy to another server the counts name transactions of the old one.
    await tx.execute(sql`select list_refresh()`);
  });
}

/**
 * In SQL_ASCII the server counts bytes where we promise characters and answers with text that nobody can read; other
 * encodings lack most characters. Both would be errors of single requests, long after the start.
 */
async function refuseOtherEncodings(db: Orm): Promise<void> {
  const [found] = await runPrepared(db, `select current_setting('server_encoding') as encoding`, []);
  const { encoding } = found as { encoding: string };
  if (encoding !== 'UTF8') throw new WrongEncoding(encoding);
}

export class WrongEncoding extends OperatorError {
  constructor(encoding: string) {
    super(
      `The database is encoded in ${encoding} and must be in UTF8. Make one with: create database triport encoding 'UTF8' template template0`,
    );
  }
}
