import { count, inArray, sql } from '../../drizzle/orm.ts';
import { webhookEvents } from '../../drizzle/tables/webhookEvents.ts';
import { webhookQueue } from '../../drizzle/tables/webhookQueue.ts';
import type { Backlog } from '../../schemas/event.ts';
import { need } from '../access/need.ts';
import type { Context } from '../core/context.ts';
import { type Connection, orm } from '../database/connection.ts';
import type { Database } from '../database/database.ts';
import { type Metrics, readForMetrics } from '../telemetry/metrics.ts';

const open = ['received', 'failed', 'dead'] as const;
const { status } = webhookEvents;

/** In seconds, by the clock of the database. */
const longestDue = sql<number>`coalesce(extract(epoch from now() - least(
  (select min(due_at) from ${webhookQueue} where not alone), (select min(due_at) from ${webhookQueue} where alone))), 0)::float`;

/** Each of the two statements is answered by an index: events that stay dead for years cost little. */
async function readBacklog(db: Connection) {
  const rows = await orm(db)
    .select({ status, total: count() })
    .from(webhookEvents)
    .where(inArray(status, [...open]))
    .groupBy(status);
  const [due] = await orm(db).select({ seconds: longestDue }).from(sql`(select) as one`);
  return {
    counts: new Map(open.map(name => [name, rows.find(row => row.status === name)?.total ?? 0])),
    oldest: Math.max(0, due?.seconds ?? 0),
  };
}

/** How many events are in each state that is not final, and for how long the oldest has waited. */
export async function getBacklog(context: Context): Promise<Backlog> {
  need(context, 'admin');
  const { counts, oldest } = await readBacklog(context.db);
  return { counts: Object.fromEntries(counts) as Backlog['counts'], oldestWaitingSeconds: oldest };
}

/** Every instance on one database measures the same: take the maximum, not the sum. */
export function watchBacklog(metrics: Metrics, database: Database): void {
  const read = readForMetrics(database, () => readBacklog(database.reads));
  const counts = async () => (await read())?.counts;
  metrics.watch('webhook_events', 'Events that are not done, by status.', counts, 'status');
  const oldest = async () => (await read())?.oldest;
  const help = 'For how long the event has waited that is due for the longest time.';
  metrics.watch('webhook_oldest_waiting_seconds', help, oldest);
}
