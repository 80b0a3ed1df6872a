import { sql } from '#drizzle/orm.ts';
import { subscriptions } from '#drizzle/tables/service/subscriptions.ts';
import type { Context } from '#src/access/context.ts';
import { need } from '#src/access/need.ts';
import { newRecord } from '#src/core/ids.ts';
import { timeOfChange } from '#src/core/instants.ts';
import type { Connection } from '#src/database/connection.ts';
import { arrayText, rowsOfTable } from '#src/database/statements/insertRows.ts';
import { statement } from '#src/database/statements/statement.ts';
import { recordWrites, type Write } from '#src/records/audit.ts';
import { applyEvents, type StatusEvent, timeOfEvent } from './applyEvents.ts';
import { ofCustomers, subscriptionIdOf } from './read.ts';

const { customer, provider, version } = subscriptions;
type Known = Awaited<ReturnType<typeof ofCustomers>>[number];

/** The version of a new row is its number of changes. A stored row adds that to its own version. */
const storeRows = statement({ customer, provider, version }, (builder, columns) =>
  builder
    .insert(subscriptions)
    .select(rowsOfTable(subscriptions))
    .onConflictDoUpdate({
      target: [customer, provider],
      set: {
        status: sql`excluded.status`,
        activatedAt: sql`excluded.activated_at`,
        items: sql`excluded.items`,
        version: sql`${version} + excluded.version`,
        updatedAt: sql`excluded.updated_at`,
      },
    })
    .returning(columns),
);

/** What the events of a customer change. */
type SubscriptionChange = ReturnType<typeof changeOf>;

/**
 * Changes, or creates, the subscription of each event's customer, in the transaction of the events. Returns why
 * events had no effect. The worker has locked the customers.
 */
export async function changeSubscriptions(
  context: Context,
  events: StatusEvent[],
): Promise<Map<string, string>> {
  need(context, 'write');
  const customers = arrayText([...new Set(events.map(({ event }) => event.customer))]);
  const known = new Map(
    (await ofCustomers(context.db, { customers })).map(row => [subscriptionIdOf(row), row]),
  );
  const applied = [...Map.groupBy(events, ({ event }) => subscriptionIdOf(event))].map(([key, own]) => {
    const before = known.get(key);
    return { event: own[0]?.event as StatusEvent['event'], before, ...applyEvents(own, before) };
  });
  const changes = applied.filter(({ isMoved }) => isMoved).map(each => changeOf(context, each));
  // The two statements are sent at once.
  await Promise.all([
    write(context.db, changes),
    recordWrites(context, 'subscription.change', changes.flatMap(auditEntries)),
  ]);
  return new Map(applied.flatMap(({ reasons }) => [...reasons]));
}

interface Applied extends ReturnType<typeof applyEvents> {
  event: StatusEvent['event'];
  before: Known | undefined;
}

function changeOf(context: Context, { event, before, status, items, changes }: Applied) {
  const { id, createdAt } = newRecord(context);
  const activation = before?.activatedAt ? undefined : changes.find(({ to }) => to === 'active');
  const knownVersion = before?.version ?? 0;
  let updatedAt = before?.updatedAt ?? createdAt;
  // A status that only gets a later time makes no new version.
  if (before && changes.length > 0) updatedAt = timeOfChange(context.now(), updatedAt);
  /** The row to insert, or to update a stored row with. */
  const row = {
    id,
    customer: event.customer ?? '',
    provider: event.provider,
    status,
    items,
    activatedAt: activation ? createdAt : (before?.activatedAt ?? null),
    version: changes.length,
    createdAt,
    updatedAt,
  };
  return { changes, activation, knownVersion, row };
}

/** Writes all changes. Throws if the known version is old: a crashed Citus node may not have shown the last change. */
async function write(db: Connection, changes: SubscriptionChange[]): Promise<void> {
  if (changes.length === 0) return;
  const stored = await storeRows(db, { $rows: JSON.stringify(changes.map(({ row }) => row)) });
  const versions = new Map(stored.map(row => [subscriptionIdOf(row), row.version]));
  if (
    changes.some(
      ({ row, knownVersion }) => versions.get(subscriptionIdOf(row)) !== knownVersion + row.version,
    )
  )
    throw new Error('Another worker changed the same subscriptions at this moment.');
}

function auditEntries({ changes, activation, knownVersion, row }: SubscriptionChange): Write[] {
  return changes.map((change, i) => {
    const { event, item, from, to } = change;
    const { periodAt, cancelAt, ...subscription } = item;
    const changed = ['items', from !== to && 'status', change === activation && 'activatedAt'];
    return {
      recordId: subscriptionIdOf(row),
      version: knownVersion + i + 1,
      sides: [{ customer: row.customer }],
      changed: from === null ? [] : changed.filter(member => member !== false),
      details: {
        event: event.id,
        eventId: event.eventId,
        occurredAt: timeOfEvent(event),
        from,
        to,
        subscription,
      },
    };
  });
}
