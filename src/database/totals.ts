import { inWords, type Report, ticking } from '#src/core/progress.ts';
import type { Log } from '#src/telemetry/log.ts';
import type { Metrics } from '#src/telemetry/metrics.ts';
import type { Connection } from './connection.ts';
import type { Database } from './database.ts';
import { isLockedOut, isOutage } from './databaseErrors.ts';
import { watchIn } from './metrics.ts';
import { repeat } from './repeat.ts';
import { inLongTransaction } from './write.ts';

/** The tables that have totals, with their sizes as weights. Citus knows only the part on this node, so all count alike. */
const tablesWithTotals = `select name, to_regclass(format('%I', name)) is not null,
    case when to_regproc('citus_table_size') is null then greatest(pg_relation_size(to_regclass(format('%I', name))), 1) else 1 end
  from list_tables order by name`;

/**
 * Counts every table again and reports each one. On PostgreSQL others can read and write meanwhile; on the embedded
 * database everybody waits.
 */
export async function repairCounts(
  db: Connection,
  say: (line: string) => void,
  report: Report = () => {},
): Promise<void> {
  const tables = await db.rows(tablesWithTotals, []);
  const sizes = tables.map(([, , size]) => Number(size));
  const sum = (numbers: number[]) => numbers.reduce((all, each) => all + each, 0);
  for (const [index, [table, isThere]] of tables.entries()) {
    if (!isThere) {
      await inLongTransaction(db, inside => inside.rows('select list_unwatch($1)', [table]));
      say(`${table} is gone: its totals are forgotten.`);
      continue;
    }
    const place = `${index + 1} of ${tables.length} lists: counting ${table}`;
    const share = sum(sizes.slice(0, index)) / sum(sizes);
    await ticking(
      seconds => report(`${place}, ${inWords(seconds)}`, share),
      () => inLongTransaction(db, inside => inside.rows('select list_repair($1)', [table])),
    );
    say(`The totals of ${table} are exact.`);
  }
}

/** The most changes that one fold moves. On the embedded database everybody waits for a fold. */
const changesPerFold = { postgres: 20_000, embedded: 5000 };
/** Milliseconds between folds; fewer after `many` changes, because readers add up the changes that are not folded. */
const [pause, shortPause, many] = [1000, 100, 500];

/**
 * Moves changes from the log to the totals (drizzle/migrations/0000_lists.sql), again and again until it is stopped.
 */
export function startFolding({ upkeep, kind, available }: Database, log: Log): () => void {
  const fold = (db: Connection) => db.rows('select list_fold($1)', [changesPerFold[kind]]);
  const folding = repeat({
    work: async () => {
      const [[moved] = []] = await inLongTransaction(upkeep, fold);
      return Number(moved) >= many ? shortPause : pause;
    },
    every: pause,
    cannotTell: error => !available() || isLockedOut(error) || isOutage(error),
    log,
    away: 'Changes cannot be folded into the totals, so lists get slower.',
    back: 'Changes are folded into the totals again.',
  });
  // A running fold ends when the database is closed.
  return () => void folding.close();
}

const changesWaitingQuery = 'select count(*) from (select from list_log limit 100000) as waiting';
const oldestTransactionQuery = `select extract(epoch from now() - least(
  (select min(xact_start) from pg_stat_activity
    where datname = current_database() and backend_type = 'client backend' and pid <> pg_backend_pid()),
  (select min(prepared) from pg_prepared_xacts where database = current_database())))`;

/** Every instance on one database reports the same values: take their maximum, not their sum. */
export function watchTotals(metrics: Metrics, database: Database): void {
  const read = (text: string) => async (db: Connection) =>
    Math.max(0, Number((await db.rows(text, []))[0]?.[0] ?? 0));
  const waitingHelp = 'Changes that are not folded into the totals yet, up to 100,000.';
  watchIn(metrics, database, 'totals_changes_waiting', waitingHelp, read(changesWaitingQuery));
  const oldestHelp = 'For how long the oldest open or prepared transaction of the database has been open.';
  watchIn(metrics, database, 'database_oldest_transaction_seconds', oldestHelp, read(oldestTransactionQuery));
}
