import { setTimeout as sleep } from 'node:timers/promises';
import type { Log } from '../../core/log.ts';
import type { Database } from '../database.ts';
import { databaseFailure, isOutage } from '../databaseErrors.ts';
import { migrate } from '../migrations.ts';
import { connectionOf, connectTo, type Server } from './client.ts';
import type { Pool } from './pool.ts';
import { watchServer } from './watch.ts';

/** All times are in milliseconds. */
const checkEvery = 2000;
/**
 * A write that waits for a lock takes a connection from others, and statements that were sent behind it wait with it: after
 * this time it waits without a connection (`untilUnlocked`).
 */
const writesWaitForLocks = 50;

/** A PostgreSQL server. Opening never waits for it: it may be away now, and at any time later. */
export function openPostgres(server: Server, log: Log): Database {
  let migrated = false;
  let closed = false;
  const ready = Promise.withResolvers<void>();
  ready.promise.catch(() => {});

  const onclose = () => watch.lookNow();
  const readers = connectTo(server, log, { onclose });
  const writers = connectTo({ ...server, lockTimeout: writesWaitForLocks }, log, { onclose });
  const pools = [readers, writers];
  const writes = connectionOf(writers);

  const bringUpToDate = onceAtATime(async () => {
    try {
      await migrate(writes);
      migrated = true;
      log.info('The database is ready.');
      ready.resolve();
    } catch (error) {
      if (closed) return;
      if (!mayPass(error)) return ready.reject(error);
      log.warn({ err: error }, 'The migrations were interrupted. Trying again.');
    }
  });
  const watch = watchServer(server, log, {
    onAnswer: () => void (migrated || bringUpToDate()),
    // What waits for a server that is gone would wait until TCP gives up.
    onSilence: () => pools.forEach(pool => void pool.reset()),
    isFinal: error => {
      const final = !migrated && !mayPass(error);
      if (final) ready.reject(error);
      return final;
    },
  });

  return {
    kind: 'postgres',
    writes,
    reads: connectionOf(readers),
    available: () => migrated && watch.isReachable() && !closed,
    ready: ready.promise,
    ping: watch.ping,
    hasConnections: watchConnections(pools, () => closed),
    load: () => loadOf(readers, writers, server.connections),
    close: async () => {
      closed = true;
      await Promise.all([readers.close(), writers.close(), watch.close()]);
      ready.resolve();
    },
  };
}

function onceAtATime(work: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | undefined;
  return () => {
    running ??= work().finally(() => {
      running = undefined;
    });
    return running;
  };
}

function mayPass(error: unknown): boolean {
  const failure = databaseFailure(error);
  return failure !== undefined && isOutage(failure);
}

/**
 * Asks for a connection now and then, as requests do. Two refusals in a row say that none becomes free; after one alone,
 * a server that is busy for a moment would be taken out of the balancer.
 */
function watchConnections(pools: Pool[], isClosed: () => boolean): () => boolean {
  let refusals = 0;
  async function watch() {
    while (!isClosed()) {
      const asked = Promise.all(pools.map(({ sql }) => sql.unsafe('select 1')));
      const isFree = await asked.then(
        () => true,
        error => databaseFailure(error)?.code !== 'CONNECTION_WAIT_TIMEOUT',
      );
      refusals = isFree ? 0 : refusals + 1;
      await sleep(checkEvery, undefined, { ref: false });
    }
  }
  void watch();
  return () => refusals < 2;
}

function loadOf(readers: Pool, writers: Pool, connections: number) {
  const [reading, writing] = [readers.load(), writers.load()];
  return {
    connections: 2 * connections,
    reading: reading.used,
    writing: writing.used,
    waiting: reading.waiting + writing.waiting,
  };
}
