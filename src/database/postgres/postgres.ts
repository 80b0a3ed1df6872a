import { setTimeout as sleep } from 'node:timers/promises';
import { drizzle } from 'drizzle-orm/postgres-js';
import postgres from 'postgres';
import type { Log } from '../../core/log.ts';
import { OperatorError } from '../../core/operatorErrors.ts';
import type { Database, Orm } from '../database.ts';
import { databaseFailure, isOutage } from '../databaseErrors.ts';
import { migrate } from '../migrations.ts';

/** Set by patches/postgres+3.4.9.patch, which also adds `cut`; ARCHITECTURE.md says what it mends. */
const mends = 'triport-4';
export type Client = postgres.Sql & {
  /** Drops every connection and fails all that waits for one. The next statement connects anew. */
  cut: () => void;
  /** Fails the statements that have waited for a connection for so many milliseconds. */
  refuse: (age: number) => void;
  load: () => { used: number; waiting: number };
};

/** All times are in milliseconds. */
const checkEvery = 2000;
const retryEvery = 250;
/**
 * A write that waits for a lock takes a connection from others, and those that were sent behind it wait with it: after this
 * time it waits without a connection (`untilUnlocked`).
 */
const writesWait = 50;
/** Longer than a busy server ever needs for `select 1`. A dead one may keep a socket silent for 15 minutes. */
const patience = 5000;

export interface Server {
  url: string;
  /** For reads, and as many for writes. */
  connections: number;
  /** Whether a pooler gives each transaction another session. */
  pooled?: boolean;
  /** Seconds that one statement may take. */
  statementTimeout?: number;
  /** Milliseconds that a statement may wait for a lock. */
  lockTimeout?: number;
  /** Seconds that a statement may wait for a connection. */
  wait?: number;
}

/** What a pooler carries along from session to session. */
const carried = { application_name: 'triport', TimeZone: 'UTC' };

/** What each session of the service is set to. */
const sessionOf = ({ statementTimeout = 10, lockTimeout = 2000 }: Server) => ({
  ...carried,
  statement_timeout: statementTimeout * 1000,
  lock_timeout: lockTimeout,
  idle_in_transaction_session_timeout: 15_000,
  // A count on several processes is faster alone and three times slower under load. The driver drops 0.
  max_parallel_workers_per_gather: '0' as unknown as number,
});

/** Connections for requests, made when they are needed. */
export function connectTo(
  server: Server,
  log: Log,
  options: postgres.Options<Record<string, never>> = {},
): Client {
  return postgres(server.url, {
    max: server.connections,
    onnotice: notice => log.debug({ notice: notice.message }, 'Postgres says'),
    // The server answers at once or it is away: waiting longer would only pile up requests.
    connect_timeout: 3,
    backoff: () => 0,
    // A prepared statement stays with the session that it was prepared in, and a pooler refuses most settings of one.
    prepare: !server.pooled,
    connection: server.pooled ? carried : sessionOf(server),
    ...options,
  }) as postgres.Sql as Client;
}

/** One connection that asks how a server is, and does nothing else. */
export const connectProbe = (url: string, log: Log, options: postgres.Options<Record<string, never>> = {}) =>
  connectTo({ url, connections: 1 }, log, {
    max_lifetime: null,
    connection: { application_name: 'triport probe' },
    ...options,
  });

/** A PostgreSQL server. Opening never waits for it: it may be away now, and at any time later. */
export function openPostgres(server: Server, log: Log): Database {
  const { wait = 2 } = server;
  if ((postgres as unknown as { mends?: string }).mends !== mends)
    throw new OperatorError(
      'The postgres driver is not patched: run `npx patch-package`. Unpatched, it ends the process when the server goes away.',
    );

  let migrated = false;
  let reachable = true;
  let closed = false;
  const ready = Promise.withResolvers<void>();
  ready.promise.catch(() => {});
  const pause = makePause();

  const onclose = () => reachable && pause.end();
  const reads = connectTo(server, log, { onclose });
  const writes = connectTo({ ...server, lockTimeout: writesWait }, log, { onclose });
  const clients = [reads, writes];
  // Alone on its connection, so that its answer never waits behind other work: a late one means a dead server.
  const probe = connectProbe(server.url, log, { onclose, prepare: !server.pooled });
  const orm = drizzle(writes) as unknown as Orm;
  // Without an end to their wait, requests would pile up behind those that hold every connection.
  const impatience = setInterval(() => {
    for (const client of clients) client.refuse(wait * 1000);
  }, 100).unref();

  let asked: Promise<void> | undefined;
  const ping = () => {
    asked ??= answerOf(probe)
      .then(() => {})
      .finally(() => {
        asked = undefined;
      });
    return asked;
  };

  /** Asks for a sign of life, again and again. Without one, requests are refused at once until there is one. */
  async function watch() {
    while (!closed) {
      try {
        await ping();
        if (!reachable) log.info('The database is back.');
        reachable = true;
        if (!migrated) void bringUpToDate();
      } catch (error) {
        if (closed) return;
        if (!migrated && !mayPass(error)) return ready.reject(error);
        if (reachable) log.error({ err: error }, 'The database is out of reach. Trying until it is back.');
        reachable = false;
        // What waits for a server that is gone would wait until TCP gives up.
        for (const client of clients) client.cut();
      }
      await pause.begin(reachable ? checkEvery : retryEvery);
    }
  }

  let migrating = false;
  async function bringUpToDate() {
    if (migrating) return;
    migrating = true;
    try {
      await migrate(orm);
      migrated = true;
      log.info('The database is ready.');
      ready.resolve();
    } catch (error) {
      if (closed) return;
      if (!mayPass(error)) return ready.reject(error);
      log.warn({ err: error }, 'The migrations were interrupted. Trying again.');
    } finally {
      migrating = false;
    }
  }

  void watch();
  const hasConnections = watchConnections(clients, () => closed);
  return {
    kind: 'postgres',
    orm,
    reads: drizzle(reads) as unknown as Orm,
    available: () => migrated && reachable && !closed,
    ready: ready.promise,
    ping,
    hasConnections,
    load: () => {
      const [reading, writing] = [reads.load(), writes.load()];
      return {
        connections: 2 * server.connections,
        reading: reading.used,
        writing: writing.used,
        waiting: reading.waiting + writing.waiting,
      };
    },
    close: async () => {
      closed = true;
      clearInterval(impatience);
      pause.end();
      await Promise.all([...clients.map(client => client.end({ timeout: 1 })), probe.end({ timeout: 0 })]);
      for (const client of [...clients, probe]) client.cut();
      ready.resolve();
    },
  };
}

/**
 * Asks for a connection now and then, as requests do. What waits for one in vain is refused, as their statements are; twice
 * in a row, so that a server which is only busy for a moment is not taken out of the balancer.
 */
function watchConnections(clients: Client[], isClosed: () => boolean): () => boolean {
  let refusals = 0;
  async function watch() {
    while (!isClosed()) {
      const asked = Promise.all(clients.map(client => client.unsafe('select 1')));
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

/** What the server answers; rejects when it does not, within a time that is always bounded. */
export async function answerOf(
  probe: Client,
  text = 'select 1',
  limit = patience,
): Promise<Record<string, unknown>[]> {
  let turn: NodeJS.Immediate | undefined;
  const timer = setTimeout(() => {
    // If it was this process that stood still, the answer has arrived and is read before the next turn.
    turn = setImmediate(() => probe.cut());
  }, limit);
  try {
    return await probe.unsafe(text);
  } finally {
    clearTimeout(timer);
    clearImmediate(turn);
  }
}

function mayPass(error: unknown): boolean {
  const failure = databaseFailure(error);
  return failure !== undefined && isOutage(failure);
}

/** A pause that can be ended early. */
function makePause() {
  let end = () => {};
  return {
    begin: (milliseconds: number) =>
      new Promise<void>(resolve => {
        const timer = setTimeout(resolve, milliseconds);
        end = () => {
          clearTimeout(timer);
          resolve();
        };
      }),
    end: () => end(),
  };
}
