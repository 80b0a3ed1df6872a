import { setTimeout as sleep } from 'node:timers/promises';
import { count, inArray, min } from 'drizzle-orm';
import { webhookEvents } from '../../drizzle/tables.ts';
import type { EventStatus } from '../../schemas/event.ts';
import { orm } from '../database/connection.ts';
import type { Database } from '../database/database.ts';
import { Metrics } from '../telemetry/metrics.ts';

/** What a process measures, and the database that it works on. */
export function openMetrics(database: Database): Metrics {
  const metrics = new Metrics();
  metrics.watchProcess();
  metrics.watchDatabase(database);
  watchBacklog(metrics, database);
  return metrics;
}

const open: EventStatus[] = ['received', 'processing', 'failed', 'dead'];

/** Milliseconds. */
const patience = 1000;

interface Backlog {
  counts: Map<string, number>;
  /** Seconds that the event which was never tried has waited, of all of them the longest. */
  oldest: number;
}

const { status, createdAt } = webhookEvents;

/** How many events are not done, and for how long the oldest has waited for its first attempt. */
async function readBacklog({ reads }: Database): Promise<Backlog> {
  const rows = await orm(reads)
    .select({ status, total: count(), oldest: min(createdAt) })
    .from(webhookEvents)
    .where(inArray(status, open))
    .groupBy(status);
  const waiting = rows.find(row => row.status === 'received')?.oldest;
  return {
    counts: new Map(open.map(name => [name, rows.find(row => row.status === name)?.total ?? 0])),
    oldest: waiting ? Math.max(0, Date.now() - Date.parse(waiting)) / 1000 : 0,
  };
}

/** The same for every instance on one database: take the largest of them, not the sum. */
function watchBacklog(metrics: Metrics, database: Database): void {
  let reading: Promise<Backlog | undefined> | undefined;
  // Read once for both values. Without an answer there is no value, rather than an old one or a long wait.
  const ask = async () => {
    if (!database.available()) return undefined;
    reading ??= readBacklog(database)
      .catch(() => undefined)
      .finally(() => {
        reading = undefined;
      });
    return Promise.race([reading, sleep(patience, undefined, { ref: false })]);
  };
  metrics.watch('webhook_events', 'Events that are not done, by status.', 'status', async () => {
    return (await ask())?.counts;
  });
  metrics.watch(
    'webhook_oldest_waiting_seconds',
    'For how long the oldest event has waited for its first attempt.',
    undefined,
    async () => (await ask())?.oldest,
  );
}
