import type { Log } from '../../core/log.ts';
import type { Database } from '../database.ts';
import { databaseFailure, isOutage } from '../databaseErrors.ts';
import { migrate } from '../migrations.ts';
import { connectionOf, connectTo, type Server } from './client.ts';
import { onceAtATime, watchServer } from './watch.ts';

/**
 * Milliseconds. A write that waits for a lock takes a connection from others, and statements sent behind it wait too:
 * after this time it waits without a connection (`untilUnlocked`).
 */
const writeLockTimeout = 50;

/** A PostgreSQL server. Opening never waits for it: it may be away now, and at any time later. */
export function openPostgres(server: Server, log: Log): Database {
  let migrated = false;
  let closed = false;
  /** In a row. After one alone, a server that is busy for a moment would be taken out of the balancer. */
  let refusals = 0;
  const ready = Promise.withResolvers<void>();
  ready.promise.catch(() => {});

  const onclose = () => watch.checkNow();
  const readers = connectTo(server, log, { onclose });
  const writers = connectTo({ ...server, lockTimeout: writeLockTimeout }, log, { onclose });
  const pools = [readers, writers];
  const writes = connectionOf(writers);

  const bringUpToDate = onceAtATime(async () => {
    if (migrated) return;
    try {
      await migrate(writes);
      migrated = true;
      log.info('The database is ready.');
      ready.resolve();
    } catch (error) {
      if (closed) return;
      if (!isTemporary(error)) return ready.reject(error);
      log.warn({ err: error }, 'The migrations were interrupted. Trying again.');
    }
  });
  // As requests do: one that gets no connection is refused.
  const checkConnections = onceAtATime(async () => {
    const answers = Promise.all(pools.map(({ sql }) => sql.unsafe('select 1')));
    const code = await answers.then(
      () => undefined,
      error => databaseFailure(error)?.code,
    );
    refusals = code === 'CONNECTION_WAIT_TIMEOUT' ? refusals + 1 : 0;
  });
  const watch = watchServer(server, log, {
    onAnswer: () => void bringUpToDate(),
    // Statements of a server that is gone would wait until TCP gives up.
    onSilence: () => pools.forEach(pool => void pool.reset()),
    isFinal: error => {
      const final = !migrated && !isTemporary(error);
      if (final) ready.reject(error);
      return final;
    },
  });

  // On a timer of its own: a connection that is refused makes the watch check at once, again and again.
  const connectionCheck = setInterval(() => void (watch.isReachable() && checkConnections()), 2000).unref();

  return {
    kind: 'postgres',
    writes,
    reads: connectionOf(readers),
    available: () => migrated && watch.isReachable() && !closed,
    ready: ready.promise,
    ping: watch.ping,
    hasConnections: () => refusals < 2,
    load: () => {
      const [reading, writing] = [readers.load(), writers.load()];
      const waiting = reading.waiting + writing.waiting;
      return { connections: 2 * server.connections, reading: reading.used, writing: writing.used, waiting };
    },
    close: async () => {
      closed = true;
      clearInterval(connectionCheck);
      await Promise.all([readers.close(), writers.close(), watch.close()]);
      ready.resolve();
    },
  };
}

function isTemporary(error: unknown): boolean {
  const failure = databaseFailure(error);
  return failure !== undefined && isOutage(failure);
}
