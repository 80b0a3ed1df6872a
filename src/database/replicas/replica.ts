import { watchService } from '../../core/watch.ts';
import type { Log } from '../../telemetry/log.ts';
import type { Connection } from '../connection.ts';
import { databaseFailure, isOutage, isTooSlow } from '../databaseErrors.ts';
import { connectionOf, connectProbe, connectTo, forReads, type Server } from '../postgres/client.ts';
import type { Pool } from '../postgres/pool.ts';

/** Milliseconds. */
export const askEvery = 250;
/** A live server answers in a fraction of this. */
const answerTimeout = 1000;

/** Where the log of the primary ended, in bytes, at a time. */
export interface LogPosition {
  time: number;
  position: bigint;
}

/** The log up to this position has everything that is committed: a commit is answered after its flush. */
const flushed = "select (pg_current_wal_flush_lsn() - '0/0')::text as position";
/** Null on a server that is no replica, or was promoted. */
const applied = `select case when pg_is_in_recovery() then (pg_last_wal_replay_lsn() - '0/0')::text end as position`;

async function positionOf(probe: Pool, text: string): Promise<bigint | undefined> {
  const [row] = await probe.ask(text, answerTimeout);
  return typeof row?.position === 'string' ? BigInt(row.position) : undefined;
}

export const positionOfPrimary = (probe: Pool) => positionOf(probe, flushed);

/** One copy of the database: reads from it, and how far it is. `history` is that of the primary. */
export function openReplica(
  name: string,
  server: Server,
  primary: Connection,
  history: () => LogPosition[],
  log: Log,
) {
  const pool = connectTo(forReads(server));
  // On a connection of its own: it never waits behind reads.
  const probe = connectProbe(server);
  let upTo = Number.NEGATIVE_INFINITY;
  const watch = watchService({
    check: async () => {
      const position = await positionOf(probe, applied);
      // A replica that became a primary has a history of its own.
      const past = position === undefined ? undefined : history().findLast(past => past.position <= position);
      upTo = past?.time ?? Number.NEGATIVE_INFINITY;
    },
    every: askEvery,
    // Statements of a machine that is gone would wait until TCP gives up.
    onAway: () => pool.reset(),
    log,
    level: 'warn',
    away: `${name} is out of reach: its reads go to the primary.`,
    back: `${name} is back.`,
  });
  return {
    reads: withFallback(connectionOf(pool), primary, watch.failed),
    /** Everything that was committed before this time can be read here. */
    upTo: () => (watch.isAway() ? Number.NEGATIVE_INFINITY : upTo),
    close: async () => {
      void watch.close();
      await Promise.all([pool.close(), probe.close()]);
    },
  };
}

/**
 * Reads of a replica. A read that fails because the replica went away, or because it conflicts with a change that the
 * replica must apply, goes to the primary. Transactions always run on the primary.
 */
const withFallback = (
  replica: Connection,
  primary: Connection,
  onLost: (error: unknown) => void,
): Connection => ({
  ...primary,
  rows: (text, params) =>
    replica.rows(text, params).catch(error => {
      // A statement that took too long here would take too long on the primary too, and hold up writes there.
      if (!isOutage(error) || isTooSlow(error)) throw error;
      if (databaseFailure(error)?.code !== recoveryConflict) onLost(error);
      return primary.rows(text, params);
    }),
});
const recoveryConflict = '40001';
