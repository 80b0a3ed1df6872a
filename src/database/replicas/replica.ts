import type { Log } from '../../core/log.ts';
import type { Connection } from '../connection.ts';
import { databaseFailure, isOutage, isTooSlow } from '../databaseErrors.ts';
import { connectionOf, connectProbe, connectTo, type Server } from '../postgres/client.ts';
import type { Pool } from '../postgres/pool.ts';
import { answerOf, onceAtATime } from '../postgres/watch.ts';

/** Milliseconds. A live server answers in a fraction of this. */
const answerTimeout = 1000;

/** Where the log of the primary ended, in bytes, at a time. */
export interface LogPosition {
  time: number;
  position: bigint;
}

/** Everything that is committed is in the log up to here: a commit is answered after its flush. */
const flushed = "select (pg_current_wal_flush_lsn() - '0/0')::text as position";
/** Null on a server that is not a replica, or no longer one. */
const applied = `select case when pg_is_in_recovery() then (pg_last_wal_replay_lsn() - '0/0')::text end as position`;

async function positionOf(probe: Pool, text: string): Promise<bigint | undefined> {
  const [row] = await answerOf(probe, text, answerTimeout);
  return typeof row?.position === 'string' ? BigInt(row.position) : undefined;
}

export const positionOfPrimary = (probe: Pool) => positionOf(probe, flushed);

/** One copy of the database: reads from it, and how far it is. */
export class Replica {
  readonly reads: Connection;
  /** Everything that was committed before this time can be read here. */
  upTo = Number.NEGATIVE_INFINITY;
  readonly #name: string;
  readonly #log: Log;
  readonly #pool: Pool;
  /** Alone on its connection: it never waits behind reads. */
  readonly #probe: Pool;
  #away = false;
  #closed = false;

  constructor(name: string, server: Server, primary: Connection, log: Log) {
    this.#name = name;
    this.#log = log;
    this.#pool = connectTo(server, log);
    this.#probe = connectProbe(server.url, log, { prepare: !server.pooled });
    this.reads = withFallback(connectionOf(this.#pool), primary, error => this.#lost(error));
  }

  /** Updates `upTo`. Do not wait for it: a silent replica must not hold up the others. */
  readonly check = onceAtATime(async (history: LogPosition[]) => {
    try {
      const position = await positionOf(this.#probe, applied);
      // A replica that became a primary has a history of its own.
      if (position === undefined) this.upTo = Number.NEGATIVE_INFINITY;
      else this.upTo = history.findLast(past => past.position <= position)?.time ?? this.upTo;
      if (this.#away) this.#log.info(`${this.#name} is back.`);
      this.#away = false;
    } catch (error) {
      this.#lost(error);
    }
  });

  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all([this.#pool.close(), this.#probe.close()]);
  }

  #lost(error: unknown): void {
    this.upTo = Number.NEGATIVE_INFINITY;
    if (this.#away || this.#closed) return;
    this.#away = true;
    this.#log.warn({ err: error }, `${this.#name} is out of reach: its reads go to the primary.`);
    // Statements of a machine that is gone would wait until TCP gives up.
    this.#pool.reset();
  }
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
      const failure = databaseFailure(error);
      // What took too long here would on the primary too, and hold up writes there.
      if (!failure || !isOutage(failure) || isTooSlow(failure)) throw error;
      if (failure.code !== recoveryConflict) onLost(error);
      return primary.rows(text, params);
    }),
});
const recoveryConflict = '40001';
