import type { Log } from '../../core/log.ts';
import type { Connection } from '../connection.ts';
import { databaseFailure, isOutage } from '../databaseErrors.ts';
import { connectionOf } from '../postgres/client.ts';
import type { Pool } from '../postgres/pool.ts';
import { answerOf } from '../postgres/watch.ts';

/** Milliseconds. A server that is alive says in a fraction of this how far it is. */
const patience = 1000;

/** How far the log of the primary was, in bytes, at a time. */
export interface LogPosition {
  time: number;
  position: bigint;
}

/** Everything that is committed is in the log up to here: a commit is answered after its flush. */
const written = "select (pg_current_wal_flush_lsn() - '0/0')::text as position";
/** Null where it is not a replica, or no longer one. */
const applied = `select case when pg_is_in_recovery() then (pg_last_wal_replay_lsn() - '0/0')::text end as position`;

async function positionOf(probe: Pool, text: string): Promise<bigint | undefined> {
  const [row] = await answerOf(probe, text, patience);
  return typeof row?.position === 'string' ? BigInt(row.position) : undefined;
}

export const positionOfPrimary = (probe: Pool) => positionOf(probe, written);

interface Parts {
  pool: Pool;
  /** Alone on its connection, so that its question never waits behind reads. */
  probe: Pool;
  /** Reads of the primary. */
  primary: Connection;
  log: Log;
}

/** One copy of the database: how far it is, and reads from it. */
export class Replica {
  readonly reads: Connection;
  /** Everything that was committed before this time can be read here. */
  upTo = Number.NEGATIVE_INFINITY;
  readonly #name: string;
  readonly #parts: Parts;
  #asking = false;
  #away = false;
  #closed = false;

  constructor(name: string, parts: Parts) {
    this.#name = name;
    this.#parts = parts;
    this.reads = withFallback(connectionOf(parts.pool), parts.primary, error => this.#lost(error));
  }

  /** Asks how far it is. Does not wait: one that is silent must not hide the others. */
  check(history: LogPosition[]): void {
    if (this.#asking) return;
    this.#asking = true;
    positionOf(this.#parts.probe, applied)
      .then(
        position => this.#answered(position, history),
        error => this.#lost(error),
      )
      .finally(() => {
        this.#asking = false;
      });
  }

  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all([this.#parts.pool.close(), this.#parts.probe.close()]);
  }

  #answered(position: bigint | undefined, history: LogPosition[]): void {
    // It became a primary, with a history of its own.
    if (position === undefined) this.upTo = Number.NEGATIVE_INFINITY;
    else this.upTo = history.findLast(past => past.position <= position)?.time ?? this.upTo;
    if (this.#away) this.#parts.log.info(`${this.#name} is back.`);
    this.#away = false;
  }

  #lost(error: unknown): void {
    this.upTo = Number.NEGATIVE_INFINITY;
    if (this.#away || this.#closed) return;
    this.#away = true;
    this.#parts.log.warn({ err: error }, `${this.#name} is out of reach: its reads go to the primary.`);
    // What waits for a machine that is gone would wait until TCP gives up; cut, it is read from the primary.
    this.#parts.pool.reset();
  }
}

/**
 * Reads of a replica. One that fails because the replica went away, or because a change that it had to apply was in the
 * way, is read from the primary. Transactions always run on the primary.
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
      if (!failure || !isOutage(failure) || tooLong.has(failure.code)) throw error;
      if (failure.code !== recoveryConflict) onLost(error);
      return primary.rows(text, params);
    }),
});
const recoveryConflict = '40001';
/** What takes too long or waits too long here would do so on the primary too, and there in the way of writes. */
const tooLong = new Set(['57014', 'CONNECTION_WAIT_TIMEOUT']);
