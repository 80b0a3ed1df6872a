import { hash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Settings } from '../../../schemas/settings.ts';
import { statementTimeout as timeoutOf } from '../../config/timeouts.ts';
import { replicaUrls } from '../../config/urls.ts';
import type { Log } from '../../core/log.ts';
import type { Connection } from '../connection.ts';
import type { Database } from '../database.ts';
import { connectProbe } from '../postgres/client.ts';
import { RecentWriters } from './recentWriters.ts';
import { type LogPosition, positionOfPrimary, Replica } from './replica.ts';

export interface Replicas {
  /** Where this caller may read; undefined is the primary. */
  readerFor(caller: string): Promise<Connection | undefined>;
  /** Tells all instances that this caller wrote. Wait for it before the response. */
  wrote(caller: string): Promise<void>;
  close(): Promise<void>;
}

/** Milliseconds. */
const checkEvery = 250;
/** A replica that is further behind is not used. A caller who wrote reads from the primary for longer than this. */
const maxLag = 5000;

/**
 * Copies of the database for reads, if there are any. Two promises hold on all instances together:
 *
 * 1. A replica lacks nothing that was committed more than `maxLag` ago. Each instance keeps asking the primary how far its
 *    log is, and each replica how much of it is applied.
 * 2. Callers read their own writes. Before a write is answered, the caller's name goes to Redis for longer than any
 *    replica may lag, and its reads go to the primary. Times are measured, never compared between clocks.
 */
export function openReplicas(settings: Settings, database: Database, log: Log): Replicas | undefined {
  const { DATABASE_URL = '', REDIS_URL, DATABASE_POOLER, DATABASE_POOL_SIZE: connections } = settings;
  const pooled = DATABASE_POOLER === 'transaction';
  const statementTimeout = timeoutOf(settings);
  const urls = replicaUrls(settings);
  if (urls.length === 0 || REDIS_URL === undefined) return undefined;
  const replicas = urls.map(
    (url, i) =>
      new Replica(`Replica ${i + 1}`, { url, connections, pooled, statementTimeout }, database.reads, log),
  );
  const probe = connectProbe(DATABASE_URL, log, { prepare: !pooled });
  const recentWriters = new RecentWriters(REDIS_URL, maxLag + 1000, log);
  let history: LogPosition[] = [];
  let closed = false;

  async function check(): Promise<void> {
    const time = performance.now();
    // While the primary is away no replica proves that it is up to date, and soon none counts as such.
    const position = database.available() && (await positionOfPrimary(probe).catch(() => undefined));
    if (position) history = [...history.filter(past => time - past.time <= maxLag), { time, position }];
    for (const replica of replicas) void replica.check(history);
  }
  async function watch(): Promise<void> {
    for (; !closed; await sleep(checkEvery)) await check();
  }
  void watch();

  return {
    async readerFor(caller) {
      // Before the choice: a replica only gets further until it is read.
      if (await recentWriters.has(caller)) return undefined;
      const time = performance.now();
      const fresh = replicas.filter(({ upTo }) => time - upTo <= maxLag);
      // The same replica for the same caller, so that the next page is no older than this one.
      return fresh[Number.parseInt(hash('sha1', caller).slice(0, 8), 16) % fresh.length]?.reads;
    },
    wrote: caller => recentWriters.set(caller),
    async close() {
      closed = true;
      await Promise.all([recentWriters.close(), probe.close(), ...replicas.map(replica => replica.close())]);
    },
  };
}
