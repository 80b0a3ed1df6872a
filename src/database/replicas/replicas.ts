import { hash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Settings } from '../../../schemas/settings.ts';
import { statementTimeout as timeoutOf } from '../../config/timeouts.ts';
import { replicaUrls } from '../../config/urls.ts';
import type { Log } from '../../core/log.ts';
import type { Connection } from '../connection.ts';
import type { Database } from '../database.ts';
import { connectProbe, connectTo } from '../postgres/client.ts';
import type { Pool } from '../postgres/pool.ts';
import { RecentWriters } from './recentWriters.ts';
import { type LogPosition, positionOfPrimary, Replica } from './replica.ts';

type ReplicaSettings = Pick<
  Settings,
  | 'DATABASE_URL'
  | 'DATABASE_POOLER'
  | 'DATABASE_POOL_SIZE'
  | 'DATABASE_REPLICA_URLS'
  | 'REDIS_URL'
  | 'REQUEST_TIMEOUT'
>;

/** Milliseconds. */
const checkEvery = 250;
/** A replica that is further behind is not read from. For so long a client that wrote reads from the primary. */
const maxLag = 5000;

/** Undefined when there are none: then nothing is asked and nothing is marked. */
export function openReplicas(settings: ReplicaSettings, database: Database, log: Log): Replicas | undefined {
  const { DATABASE_URL = '', REDIS_URL, DATABASE_POOLER, DATABASE_POOL_SIZE: connections } = settings;
  const statementTimeout = timeoutOf(settings);
  const urls = replicaUrls(settings);
  if (urls.length === 0 || REDIS_URL === undefined) return undefined;
  const replicas = urls.map((url, i) => {
    const pool = connectTo({ url, connections, statementTimeout }, log);
    return new Replica(`Replica ${i + 1}`, {
      pool,
      probe: connectProbe(url, log),
      primary: database.reads,
      log,
    });
  });
  const probe = connectProbe(DATABASE_URL, log, { prepare: DATABASE_POOLER === 'none' });
  const recentWriters = new RecentWriters(REDIS_URL, maxLag + 1000, log);
  return new Replicas({ database, probe, replicas, recentWriters, maxLag });
}

interface Parts {
  database: Database;
  /** To the primary. */
  probe: Pool;
  replicas: Replica[];
  recentWriters: RecentWriters;
  maxLag: number;
}

/**
 * Copies of the database that are read from. Two promises hold on all instances together:
 *
 * 1. What a replica answers with is complete up to a moment that is at most `maxLag` ago. Each instance keeps asking
 *    the primary how far its log is, and each replica how much of the log it has applied.
 * 2. A caller finds what he wrote. Before a write is answered, a mark with his name goes to Redis, which lasts longer
 *    than any replica may lag; who has a mark reads from the primary. Times are measured, never compared between clocks.
 */
export class Replicas {
  readonly #parts: Parts;
  /** Where the log of the primary was, at moments that are not longer ago than a replica may be behind. */
  #history: LogPosition[] = [];
  #closed = false;

  constructor(parts: Parts) {
    this.#parts = parts;
    void this.#watch();
  }

  /** Where this caller may read; undefined is the primary. */
  async readerFor(caller: string): Promise<Connection | undefined> {
    const { replicas, recentWriters, maxLag } = this.#parts;
    // Asked before the replica is chosen: what it has applied by then is not less later.
    if (await recentWriters.has(caller)) return undefined;
    const time = performance.now();
    const fresh = replicas.filter(({ upTo }) => time - upTo <= maxLag);
    // The same caller on the same replica, so that time does not go back for him from one page to the next.
    return fresh[Number.parseInt(hash('sha1', caller).slice(0, 8), 16) % fresh.length]?.reads;
  }

  /** Tells all instances that he wrote. Wait for it before he is answered. */
  wrote(caller: string): Promise<void> {
    return this.#parts.recentWriters.set(caller);
  }

  async close(): Promise<void> {
    this.#closed = true;
    const { replicas, recentWriters, probe } = this.#parts;
    await Promise.all([recentWriters.close(), probe.close(), ...replicas.map(replica => replica.close())]);
  }

  async #watch(): Promise<void> {
    while (!this.#closed) {
      await this.#look();
      await sleep(checkEvery);
    }
  }

  /** Asks the primary how far its log is, and each replica how much of it it has applied. */
  async #look(): Promise<void> {
    const { database, probe, replicas, maxLag } = this.#parts;
    const time = performance.now();
    // While the primary is away no replica proves that it is up to date, and soon none counts as such.
    const position = database.available() && (await positionOfPrimary(probe).catch(() => undefined));
    if (position)
      this.#history = [...this.#history.filter(past => time - past.time <= maxLag), { time, position }];
    for (const replica of replicas) replica.check(this.#history);
  }
}
