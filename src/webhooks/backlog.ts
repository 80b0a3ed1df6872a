import { count, inArray, min } from '../../drizzle/orm.ts';
import { webhookEvents } from '../../drizzle/tables/webhookEvents.ts';
import type { EventStatus } from '../../schemas/event.ts';
import { orm } from '../database/connection.ts';
import type { Database } from '../database/database.ts';
import { readForMetrics } from '../database/metrics.ts';
import type { Metrics } from '../telemetry/metrics.ts';

const open: EventStatus[] = ['received', 'processing', 'failed', 'dead'];
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
export function watchBacklog(metrics: Metrics, database: Database): void {
  const read = readForMetrics(database, () => readBacklog(database));
  const counts = async () => (await read())?.counts;
  metrics.watch('webhook_events', 'Events that are not done, by status.', counts, 'status');
  const oldest = async () => (await read())?.oldest;
  const help = 'For how long the oldest event has waited for its first attempt.';
  metrics.watch('webhook_oldest_waiting_seconds', help, oldest);
}
