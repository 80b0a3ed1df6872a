import { hash } from 'node:crypto';
import type { Settings } from '../../../schemas/settings.ts';
import { replicaUrls } from '../../config/urls.ts';
import { watchService } from '../../core/watch.ts';
import type { Log } from '../../telemetry/log.ts';
import type { Connection } from '../connection.ts';
import type { Database } from '../database.ts';
import { connectProbe, serverOf } from '../postgres/client.ts';
import { openRecentWriters } from './recentWriters.ts';
import { askEvery, type LogPosition, openReplica, positionOfPrimary } from './replica.ts';

export type Replicas = ReturnType<typeof openReplicas>;

/**
 * Milliseconds. A replica that is further behind is not used. A caller who wrote reads from the primary for longer
 * than this.
 */
const maxLag = 5000;

/**
 * Copies of the database for reads. Two promises hold on all instances together:
 *
 * 1. A replica lacks nothing that was committed more than `maxLag` ago. Each instance keeps asking the primary how
 *    far its log is, and each replica how much of it is applied.
 * 2. Callers read their own writes. Before a write is answered, the caller's name goes to Redis for longer than any
 *    replica may lag, and its reads go to the primary. Times are measured, never compared between clocks.
 */
export function openReplicas(settings: Settings, database: Database, log: Log) {
  const { DATABASE_URL = '', REDIS_URL = '' } = settings;
  let history: LogPosition[] = [];
  const replicas = replicaUrls(settings).map((url, i) =>
    openReplica(`Replica ${i + 1}`, serverOf(settings, url), database.reads, () => history, log),
  );
  const probe = connectProbe(serverOf(settings, DATABASE_URL));
  const recentWriters = openRecentWriters(REDIS_URL, maxLag + 1000, log);
  // While the primary is away no replica proves that it is up to date, and soon none counts as such.
  const primary = watchService({
    check: async () => {
      const time = performance.now();
      const position = await positionOfPrimary(probe);
      if (position) history = [...history.filter(past => time - past.time <= maxLag), { time, position }];
    },
    every: askEvery,
    cannotTell: () => !database.available(),
    log,
    level: 'warn',
    away: 'The primary does not say how far it is: soon no replica is used.',
    back: 'The primary says how far it is again.',
  });

  return {
    /** Where this caller may read; undefined is the primary. */
    async readerFor(caller: string): Promise<Connection | undefined> {
      // Before the choice: a replica only gets further until it is read.
      if (await recentWriters.has(caller)) return undefined;
      const time = performance.now();
      const fresh = replicas.filter(({ upTo }) => time - upTo() <= maxLag);
      // The same replica for the same caller, so that the next page is no older than this one.
      return fresh[Number.parseInt(hash('sha1', caller).slice(0, 8), 16) % fresh.length]?.reads;
    },
    /** Tells all instances that this caller wrote. Wait for it before the response. */
    wrote: (caller: string) => recentWriters.set(caller),
    close: async () => {
      void primary.close();
      recentWriters.close();
      await Promise.all([probe.close(), ...replicas.map(replica => replica.close())]);
    },
  };
}
