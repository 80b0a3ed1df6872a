import { getTableName, type PgTable, sql } from '../../drizzle/orm.ts';
import type { Log } from '../core/log.ts';
import { watchService } from '../core/watch.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { Connection } from './connection.ts';
import type { Database } from './database.ts';
import { databaseFailure, isLockedOut, isOutage } from './databaseErrors.ts';
import { readForMetrics } from './metrics.ts';
import { readCommitted, withoutTimeouts } from './transaction.ts';

/** The number of rows of a table. */
export const totalOf = (table: PgTable) =>
  sql<number>`(select total from list_place(${sql.raw(`'${getTableName(table)}'`)}, '', 0, false))::int`;

/** Counts everything again, while others read and write. */
export const repairCounts = (db: Connection) =>
  db.transaction(async inside => {
    await readCommitted(inside);
    await withoutTimeouts(inside);
    await inside.rows('select list_repair()', []);
  });

/** The most changes that one fold moves. On the embedded database everybody waits for it. */
const portions = { postgres: 50_000, embedded: 5000 };

/**
 * Moves changes from the log to the counts (drizzle/migrations/0003_totals.sql) if at least `fewest` wait; returns how many.
 * No writer waits for it, and it waits for nobody.
 */
const foldChanges = ({ writes, kind }: Database, fewest: number): Promise<number> =>
  writes.transaction(async inside => {
    await readCommitted(inside);
    // After a bulk load, rows are counted instead.
    await inside.rows(`select set_config('statement_timeout', '0', true)`, []);
    const [[moved] = []] = await inside.rows('select list_fold($1, $2)', [portions[kind], fewest]);
    return Number(moved);
  });

/**
 * Readers add up the changes in the log, so it must not become long. Nor may folds be too frequent: while a transaction
 * stays open, each leaves an old version of some nodes, which readers meet.
 */
const [many, few] = [500, 100];
/** Milliseconds, after many changes and after fewer. Every tenth time, those that are too few are folded, too. */
const [shortPause, pause] = [100, 1000];

/** Folds again and again while there is a database. Every process does; the database lets one at a time. */
export function startFolding(database: Database, log: Log): () => void {
  let turn = 0;
  const folding = watchService({
    check: async () => {
      const moved = await foldChanges(database, ++turn % 10 === 0 ? 1 : few);
      return moved >= many ? shortPause : pause;
    },
    every: pause,
    cannotTell: error => {
      const failure = databaseFailure(error);
      return !database.available() || isLockedOut(error) || (failure !== undefined && isOutage(failure));
    },
    log,
    away: 'Changes cannot be folded into the totals, so lists get slower.',
    back: 'Changes are folded into the totals again.',
  });
  // A fold that is running ends with the database.
  return () => void folding.close();
}

const health = `select
  (select count(*) from (select from list_sources cross join lateral list_pending(name, '') limit 100000) as waiting),
  extract(epoch from now() - least(
    (select min(xact_start) from pg_stat_activity
      where datname = current_database() and backend_type = 'client backend' and pid <> pg_backend_pid()),
    (select min(prepared) from pg_prepared_xacts where database = current_database())))`;

/** Every instance on one database measures the same: take the maximum, not the sum. */
export function watchTotals(metrics: Metrics, database: Database): void {
  const read = readForMetrics(database, async () => (await database.reads.rows(health, []))[0]);
  const waiting = async () => {
    const row = await read();
    return row && Number(row[0]);
  };
  metrics.watch('totals_changes_waiting', 'Changes that each list adds to its kept total.', waiting);
  const oldest = async () => {
    // The embedded database has no other transactions.
    const row = database.kind === 'postgres' ? await read() : undefined;
    return row && Math.max(0, Number(row[1] ?? 0));
  };
  const help = 'For how long the oldest open or prepared transaction of the database has been open.';
  metrics.watch('database_oldest_transaction_seconds', help, oldest);
}
