import { asc, count, eq, inArray } from '#drizzle/orm.ts';
import { webhookEvents } from '#drizzle/tables/service/webhookEvents.ts';
import type { EventSummary } from '#schemas/service/overview.ts';
import type { Backlog } from '#schemas/service/webhookEvent.ts';
import type { Context } from '#src/access/context.ts';
import { need } from '#src/access/need.ts';
import { type Connection, orm } from '#src/database/connection.ts';
import type { Database } from '#src/database/database.ts';
import { watchIn } from '#src/database/metrics.ts';
import type { Metrics } from '#src/telemetry/metrics.ts';

const open = ['received', 'failed', 'dead'] as const;
const { status } = webhookEvents;

/** Seconds, by the clock of the database, for which the event that was due first has waited. */
const longestDue = `select greatest(0, extract(epoch from now() - least(
  (select min(due_at) from webhook_queue where effect is null and not alone),
  (select min(due_at) from webhook_queue where effect is null and alone),
  (select min(due_at) from webhook_queue where effect is not null))))::float`;

/** An index answers this query and the next one, so events that stay dead for years cost little. */
async function countOpen(db: Connection) {
  const rows = await orm(db)
    .select({ status, total: count() })
    .from(webhookEvents)
    .where(inArray(status, [...open]))
    .groupBy(status);
  return new Map(open.map(name => [name, rows.find(row => row.status === name)?.total ?? 0]));
}

async function longestWaiting(db: Connection): Promise<number> {
  const [[seconds] = []] = await db.rows(longestDue, []);
  return Number(seconds);
}

/** How many events are in each state that is not final, and for how long the oldest has waited. */
export async function getBacklog(context: Context): Promise<Backlog> {
  need(context, 'admin');
  const counts = Object.fromEntries(await countOpen(context.db)) as Backlog['counts'];
  return { counts, oldestWaitingSeconds: await longestWaiting(context.db) };
}

/** What the backlog says, and when the dead event arrived that came first. */
export async function summarizeEvents(context: Context): Promise<EventSummary> {
  const { counts, oldestWaitingSeconds } = await getBacklog(context);
  const { id, createdAt } = webhookEvents;
  const dead = orm(context.db).select({ createdAt }).from(webhookEvents).where(eq(status, 'dead'));
  const [oldest] = await dead.orderBy(asc(id)).limit(1);
  return { ...counts, oldestWaitingSeconds, oldestDeadAt: oldest?.createdAt ?? null };
}

/** Every instance on one database measures the same: take the maximum, not the sum. */
export function watchBacklog(metrics: Metrics, database: Database): void {
  watchIn(metrics, database, 'webhook_events', 'Events that are not done, by status.', countOpen, 'status');
  const help = 'For how long the event has waited that is due for the longest time.';
  watchIn(metrics, database, 'webhook_oldest_waiting_seconds', help, longestWaiting);
}
