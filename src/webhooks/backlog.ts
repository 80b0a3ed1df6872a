import { setTimeout as sleep } from 'node:timers/promises';
import { count, inArray, min } from '../../drizzle/orm.ts';
import { webhookEvents } from '../../drizzle/tables/webhookEvents.ts';
import type { EventStatus } from '../../schemas/event.ts';
import { orm } from '../database/connection.ts';
import type { Database } from '../database/database.ts';
import { watchTotals } from '../database/totals.ts';
import { Metrics } from '../telemetry/metrics.ts';

/** The metrics of a process and of its database. */
export function openMetrics(database: Database): Metrics {
  const metrics = new Metrics();
  metrics.watchProcess();
  metrics.watchDatabase(database);
  watchTotals(metrics, database);
  watchBacklog(metrics, database);
  return metrics;
}

const open: EventStatus[] = ['received', 'processing', 'failed', 'dead'];
/** Milliseconds. */
const timeout = 1000;

const { status, createdAt } = webhookEvents;

/** How many events have each status, and the seconds since the oldest one without an attempt arrived. */
async function readBacklog({ reads }: Database) {
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

/** Every instance on one database measures the same: take the maximum, not the sum. */
function watchBacklog(metrics: Metrics, database: Database): void {
  // Without an answer there is no value, rather than an old one or a long wait.
  const read = async () => {
    if (!database.available()) return undefined;
    const backlog = readBacklog(database).catch(() => undefined);
    return Promise.race([backlog, sleep(timeout, undefined, { ref: false })]);
  };
  const counts = async () => (await read())?.counts;
  metrics.watch('webhook_events', 'Events that are not done, by status.', counts, 'status');
  const oldest = async () => (await read())?.oldest;
  const help = 'For how long the oldest event has waited for its first attempt.';
  metrics.watch('webhook_oldest_waiting_seconds', help, oldest);
}
