import { serviceName } from '#schemas/name.ts';
import type { Report } from '#src/core/progress.ts';
import type { Connection } from '#src/database/connection.ts';
import type { Database } from '#src/database/database.ts';
import { databaseFailure, isDenied, isOutage } from '#src/database/databaseErrors.ts';
import { migrate } from '#src/database/migrations/migrations.ts';
import { repeat } from '#src/database/repeat.ts';
import type { Log } from '#src/telemetry/log.ts';
import { connectProbe, connectTo, pooledConnection, refuseHiddenPooler, type Server } from './client.ts';
import type { Pool } from './pool.ts';

/** All times are in milliseconds. */
const checkEvery = 250;
/** Longer than a busy server ever needs for `select 1`. A dead one may keep a socket silent for 15 minutes. */
const answerTimeout = 5000;
/**
 * A write that waits for a lock takes a connection from others, and the statements sent behind it wait too. After this
 * time the statement fails, and `write` waits without a connection.
 */
const writeLockTimeout = 50;

/** Opens a PostgreSQL server without waiting for it: it may be unreachable now, and at any later time. */
export function openPostgres(server: Server, log: Log, report?: Report): Database {
  // Reads are pipelined, so half as many connections are enough, and they cost less.
  const reading = { ...server, connections: Math.ceil(server.connections / 2) };
  const readers = connectTo(reading);
  const writers = connectTo({ ...server, lockTimeout: writeLockTimeout });
  // Two, so that one client, who has one at a time, does not make others wait.
  const costly = connectTo({ ...server, connections: 2 });
  const writes = pooledConnection(writers);
  const listeners: ((message: string) => void)[] = [];
  // The probe has its own connection, where no answer waits behind other work: a late answer means a dead server.
  const probe = connectProbe(server, message => listeners.forEach(hear => void hear(message)));
  // Each check listens again, because its connection may be a new one. A pooler cannot pass messages on.
  const question = server.pooled ? 'select 1' : `listen "${serviceName}"`;
  const migrations = prepareMigrations(writes, server, log, report);
  const watch = repeat({
    work: async () => {
      await probe.ask(question, answerTimeout).catch(error => {
        if (migrations.failFor(error)) void watch.close();
        throw error;
      });
      void migrations.run();
    },
    every: checkEvery,
    // Statements sent to a server that is gone would wait until TCP gives up.
    onAway: () => [readers, writers, costly].forEach(pool => void pool.reset()),
    log,
    away: 'The database is out of reach. Trying until it is back.',
    back: 'The database is back.',
  });
  const available = () => migrations.done() && !watch.isAway();
  const connectionWatch = watchConnections([readers, writers], available, log);
  return {
    kind: 'postgres',
    writes,
    upkeep: writes,
    reads: pooledConnection(readers),
    costly: pooledConnection(costly),
    available,
    ready: migrations.ready,
    hasConnections: () => !connectionWatch.isAway(),
    messages: {
      send: async message => void (await writes.rows(`notify "${serviceName}", '${message}'`, [])),
      onMessage: (expected, work) => void listeners.push(message => message === expected && work()),
    },
    load: () => {
      const [reads, writes] = [readers.sql.load(), writers.sql.load()];
      const connections = reading.connections + server.connections;
      const waiting = reads.waiting + writes.waiting;
      return { connections, reading: reads.used, writing: writes.used, waiting };
    },
    close: async () => {
      migrations.stop();
      void connectionWatch.close();
      void watch.close();
      await Promise.all([readers.close(), writers.close(), costly.close(), probe.close(0)]);
    },
  };
}

/** The migrations, which run when the server answers, and run again after an interruption. */
function prepareMigrations(db: Connection, server: Server, log: Log, report?: Report) {
  const { promise: ready, resolve, reject } = Promise.withResolvers<void>();
  ready.catch(() => {});
  let migrated = false;
  let running = false;
  let stopped = false;
  /** Gives up if this error means that the migrations can never run; returns whether it did. */
  function failFor(error: unknown): boolean {
    if (migrated || (isOutage(error) && !isDenied(error))) return false;
    reject(error);
    return true;
  }
  async function run(): Promise<void> {
    if (migrated || running) return;
    running = true;
    try {
      if (!server.pooled) await refuseHiddenPooler(db);
      await migrate(db, log, { report });
      migrated = true;
      log.info('The database is ready.');
      resolve();
    } catch (error) {
      if (stopped || failFor(error)) return;
      log.warn({ err: error }, 'The migrations were interrupted. Trying again.');
    } finally {
      running = false;
    }
  }
  const stop = () => {
    stopped = true;
    resolve();
  };
  return { ready, run, failFor, done: () => migrated && !stopped, stop };
}

/** Codes for busy connections, or for a server that refuses the role, lacks the database or is full. */
const noSession = /^(CONNECTION_WAIT_TIMEOUT$|28|3D|53)/;

/** Asks for connections as requests do: the probe may keep its session while the server accepts no new ones. */
function watchConnections(pools: Pool[], isAvailable: () => boolean, log: Log) {
  /** Refusals in a row. If one were enough, a busy moment would take this instance off the load balancer. */
  let refusals = 0;
  return repeat({
    work: async () => {
      const answers = pools.map(({ sql }) => sql.unsafe('select 1'));
      const error: unknown = await Promise.all(answers).catch(error => error);
      const isRefused = noSession.test(databaseFailure(error)?.code ?? '');
      refusals = isRefused ? refusals + 1 : 0;
      if (refusals > 1) throw error;
    },
    every: 2000,
    cannotTell: () => !isAvailable(),
    log,
    level: 'warn',
    away: 'Requests get no connection to the database.',
    back: 'Requests get connections to the database again.',
  });
}
