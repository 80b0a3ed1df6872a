import { setTimeout as sleep } from 'node:timers/promises';
import type { Metrics, Reading } from '#src/telemetry/metrics.ts';
import type { Connection } from './connection.ts';
import type { Database } from './database.ts';

/** Adds a gauge that a query reads. If no answer comes within a second, there is no value rather than an old one. */
export function watchIn(
  metrics: Metrics,
  { available, reads }: Database,
  name: string,
  help: string,
  read: (db: Connection) => Promise<Reading>,
  label?: string,
): void {
  const readNow = () =>
    Promise.race([read(reads).catch(() => undefined), sleep(1000, undefined, { ref: false })]);
  metrics.watch(name, help, () => (available() ? readNow() : undefined), label);
}

/** Milliseconds until the answer to a statement that does nothing. */
export async function measureRoundTrip(db: Connection): Promise<number> {
  const begun = performance.now();
  await db.rows('select 1', []);
  return Math.round((performance.now() - begun) * 100) / 100;
}

export function watchDatabase(metrics: Metrics, { available, hasConnections, load }: Database): void {
  const isUp = () => Number(available() && hasConnections());
  metrics.watch('database_up', 'Whether requests reach the database, and it is up to date.', isUp);
  if (load === undefined) return;
  const byState = () => {
    const { connections, reading, writing } = load();
    return new Map(Object.entries({ reading, writing, idle: connections - reading - writing }));
  };
  metrics.watch('database_connections', 'Connections for requests, by state.', byState, 'state');
  const waiting = () => load().waiting;
  metrics.watch('database_statements_waiting', 'Statements waiting for a connection.', waiting);
}
