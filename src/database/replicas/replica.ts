import { drizzle } from 'drizzle-orm/postgres-js';
import type postgres from 'postgres';
import type { Log } from '../../core/log.ts';
import type { Orm } from '../database.ts';
import { databaseFailure, isOutage } from '../databaseErrors.ts';
import { answerOf, type Client } from '../postgres/postgres.ts';

/** Milliseconds. A server that is alive says in a fraction of this how far it is. */
const patience = 1000;

export interface Moment {
  time: number;
  /** Bytes of the log. */
  position: bigint;
}

/** All that is committed is in the log up to here: a commit is answered after its flush. */
const written = "select (pg_current_wal_flush_lsn() - '0/0')::text as position";
/** Null where it is no replica, or not any more. */
const applied = `select case when pg_is_in_recovery() then (pg_last_wal_replay_lsn() - '0/0')::text end as position`;

async function positionOf(probe: Client, text: string): Promise<bigint | undefined> {
  const [row] = await answerOf(probe, text, patience);
  return typeof row?.position === 'string' ? BigInt(row.position) : undefined;
}

/** How far the log of the primary is. */
export const positionOfPrimary = (probe: Client) => positionOf(probe, written);

export async function hangUp(client: Client): Promise<void> {
  await client.end({ timeout: 1 });
  client.cut();
}

interface Means {
  client: Client;
  /** Alone on its connection: what it asks never waits behind reads. */
  probe: Client;
  primary: Client;
  /** Seconds that a read may wait for a connection. */
  wait: number;
  log: Log;
}

/** One copy of the database: how far it is, and reads from it. */
export class Replica {
  readonly orm: Orm;
  /** All that was committed before this moment can be read here. */
  upTo = Number.NEGATIVE_INFINITY;
  readonly #name: string;
  readonly #means: Means;
  readonly #impatience: NodeJS.Timeout;
  #asking = false;
  #away = false;
  #closed = false;

  constructor(name: string, means: Means) {
    this.#name = name;
    this.#means = means;
    this.#impatience = setInterval(() => means.client.refuse(means.wait * 1000), 100).unref();
    this.orm = drizzle(readingFrom(means, error => this.#lost(error))) as unknown as Orm;
  }

  /** Asks how far it is. Does not wait: one that is silent must not hide the others. */
  check(history: Moment[]): void {
    if (this.#asking) return;
    this.#asking = true;
    positionOf(this.#means.probe, applied)
      .then(
        position => this.#found(position, history),
        error => this.#lost(error),
      )
      .finally(() => {
        this.#asking = false;
      });
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearInterval(this.#impatience);
    await Promise.all([hangUp(this.#means.client), hangUp(this.#means.probe)]);
  }

  #found(position: bigint | undefined, history: Moment[]): void {
    // It became a primary, with a history of its own.
    if (position === undefined) this.upTo = Number.NEGATIVE_INFINITY;
    else this.upTo = history.findLast(moment => moment.position <= position)?.time ?? this.upTo;
    if (this.#away) this.#means.log.info(`${this.#name} is back.`);
    this.#away = false;
  }

  #lost(error: unknown): void {
    this.upTo = Number.NEGATIVE_INFINITY;
    if (this.#away || this.#closed) return;
    this.#away = true;
    this.#means.log.warn({ err: error }, `${this.#name} is out of reach: its reads go to the primary.`);
    // What waits for a machine that is gone would wait until TCP gives up; cut, it is read from the primary.
    this.#means.client.cut();
  }
}

/**
 * A client for reads on a replica. A read that fails there because the replica went away, or because a change that it
 * had to apply was in the way, is read from the primary: nobody notices. Transactions always run on the primary.
 */
function readingFrom({ client: replica, primary }: Means, lost: (error: unknown) => void): postgres.Sql {
  function unsafe(text: string, parameters: never[], options: postgres.UnsafeQueryOptions) {
    async function run<T>(read: (client: Client) => PromiseLike<T>): Promise<T> {
      try {
        return await read(replica);
      } catch (error) {
        const failure = databaseFailure(error);
        if (!failure || !isOutage(failure) || tooLong.has(failure.code)) throw error;
        if (failure.code !== recoveryConflict) lost(error);
        return read(primary);
      }
    }
    const rows = (client: Client) => client.unsafe(text, parameters, options);
    return {
      // biome-ignore lint/suspicious/noThenProperty: like the driver's own, this runs when it is awaited
      then: (...handlers: Parameters<Promise<unknown>['then']>) => run(rows).then(...handlers),
      values: () => run(client => rows(client).values()),
    };
  }
  return { options: replica.options, unsafe, begin: primary.begin } as unknown as postgres.Sql;
}
const recoveryConflict = '40001';
/** What takes too long or waits too long here would do so on the primary too, and there in the way of writes. */
const tooLong = new Set(['57014', 'CONNECTION_WAIT_TIMEOUT']);
