import { setTimeout as sleep } from 'node:timers/promises';
import { drizzle } from 'drizzle-orm/postgres-js';
import postgres from 'postgres';
import type { Database, Orm } from './database.ts';
import { databaseFailure, isOutage } from './failure.ts';
import type { Log } from './log.ts';
import { migrate } from './migrations.ts';

/** Set by patches/postgres+3.4.9.patch; ARCHITECTURE.md says what it mends. */
const mends = 'triport-1';
const probeEvery = 250;

/** A PostgreSQL server. Opening never waits for it: it may be away now, and at any time later. */
export function openPostgres({ url, connections }: { url: string; connections: number }, log: Log): Database {
  if ((postgres as unknown as { mends?: string }).mends !== mends)
    throw new Error(
      'The postgres driver is not patched: run `npx patch-package`. Unpatched, it ends the process when the server goes away.',
    );

  let state: 'starting' | 'ready' | 'away' | 'closed' = 'starting';
  const client = postgres(url, {
    max: connections,
    onclose: () => void watch(),
    onnotice: notice => log.debug({ notice: notice.message }, 'Postgres says'),
    // The server answers at once or it is away: waiting longer would only pile up requests.
    connect_timeout: 3,
    backoff: () => 0,
    connection: {
      application_name: 'triport',
      TimeZone: 'UTC',
      statement_timeout: 15_000,
      idle_in_transaction_session_timeout: 15_000,
      // A count on several processes is faster alone and three times slower under load. The driver drops 0.
      max_parallel_workers_per_gather: '0' as unknown as number,
    },
  });
  const orm = drizzle(client) as unknown as Orm;
  const ping = async () => void (await client`select 1`);

  /** Called when a connection has gone. Until the server answers again, requests are refused at once. */
  async function watch() {
    if (state !== 'ready') return;
    state = 'away';
    for (let told = false; state === 'away'; ) {
      try {
        await ping();
        state = 'ready';
        if (told) log.info('The database is back.');
      } catch (error) {
        if (!told) log.error({ err: error }, 'The database is out of reach. Trying until it is back.');
        told = true;
        await sleep(probeEvery);
      }
    }
  }

  async function start() {
    for (let told = false; state === 'starting'; ) {
      try {
        await migrate(orm);
        if (state === 'starting') state = 'ready';
        log.info('The database is ready.');
      } catch (error) {
        const failure = databaseFailure(error);
        if (!failure || !isOutage(failure)) throw error;
        if (!told) log.warn({ err: error }, 'Waiting for the database.');
        told = true;
        await sleep(probeEvery);
      }
    }
  }

  const ready = start();
  ready.catch(() => {});
  return {
    kind: 'postgres',
    orm,
    available: () => state === 'ready',
    ready,
    ping,
    close: async () => {
      state = 'closed';
      await client.end({ timeout: 2 });
    },
  };
}
