import { sql } from '../../../drizzle/orm.ts';
import { subscriptions } from '../../../drizzle/tables/subscriptions.ts';
import { need } from '../../access/need.ts';
import type { Context } from '../../core/context.ts';
import { newRecord } from '../../core/ids.ts';
import { timeOfChange } from '../../core/instants.ts';
import type { Connection } from '../../database/connection.ts';
import { arrayText, rowsOfTable } from '../../database/statements/insertRows.ts';
import { statement } from '../../database/statements/statement.ts';
import { recordWrites, type Write } from '../audit.ts';
import { applyEvents, type StatusEvent, timeOfEvent } from './applyEvents.ts';
import { hasCustomer, ofCustomers, subscriptionIdOf } from './read.ts';

const { customer, provider, version } = subscriptions;
type Known = Awaited<ReturnType<typeof ofCustomers>>[number];

const insertNew = statement({ customer }, (builder, columns) =>
  builder
    .insert(subscriptions)
    .select(rowsOfTable(subscriptions))
    .onConflictDoNothing({ target: [customer, provider] })
    .returning(columns),
);

const updateKnown = statement({ customer }, (builder, columns) =>
  builder
    .update(subscriptions)
    .set({
      status: sql`new.status`,
      activatedAt: sql`new."activatedAt"`,
      items: sql`new.items`,
      version: sql`new.version`,
      updatedAt: sql`new."updatedAt"`,
    })
    .from(
      sql`json_to_recordset(${sql.placeholder('rows')}::text::json) as new (customer text, provider text, status text,
        "activatedAt" timestamptz, items jsonb, version integer, "knownVersion" integer, "updatedAt" timestamptz)`,
    )
    .where(
      sql`${customer} = new.customer and ${provider} = new.provider and ${version} = new."knownVersion" and ${hasCustomer}`,
    )
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
  const changes = [...Map.groupBy(events, ({ event }) => subscriptionIdOf(event))].map(([key, own]) =>
    changeOf(context, own, known.get(key)),
  );
  // Sent at once.
  await Promise.all([
    write(context.db, customers, changes),
    recordWrites(context, 'subscription.change', changes.flatMap(entriesOf)),
  ]);
  return new Map(changes.flatMap(({ reasons }) => [...reasons]));
}

function changeOf(context: Context, events: StatusEvent[], before: Known | undefined) {
  const [{ event }] = events as [StatusEvent];
  const { status, items, changes, isMoved, reasons } = applyEvents(events, before);
  const { id, createdAt } = newRecord(context);
  const activation = before?.activatedAt ? undefined : changes.find(({ to }) => to === 'active');
  const knownVersion = before?.version ?? 0;
  let updatedAt = before?.updatedAt ?? createdAt;
  // A status that only has a later time is no new version.
  if (before && changes.length > 0) updatedAt = timeOfChange(context.now(), updatedAt);
  /** As it is inserted, or as the row that exists becomes. */
  const row = {
    id,
    customer: event.customer ?? '',
    provider: event.provider,
    status,
    items,
    activatedAt: activation ? createdAt : (before?.activatedAt ?? null),
    version: knownVersion + changes.length,
    knownVersion,
    createdAt,
    updatedAt,
  };
  return { changes, isMoved, reasons, activation, row };
}

/** Writes all changes or throws: on a distributed database, a change that a crashed node has not shown yet. */
async function write(db: Connection, customers: string, changes: SubscriptionChange[]): Promise<void> {
  const moved = changes.filter(({ isMoved }) => isMoved).map(({ row }) => row);
  const created = moved.filter(({ knownVersion }) => knownVersion === 0);
  const changed = moved.filter(({ knownVersion }) => knownVersion > 0);
  const written = await Promise.all([
    created.length > 0 ? insertNew(db, { $rows: JSON.stringify(created) }) : [],
    changed.length > 0 ? updateKnown(db, { rows: JSON.stringify(changed), customers }) : [],
  ]);
  if (written.flat().length < moved.length)
    throw new Error('Another worker changed the same subscriptions at this moment.');
}

function entriesOf({ changes, activation, row }: SubscriptionChange): Write[] {
  const { customer, knownVersion } = row;
  return changes.map((change, i) => {
    const { event, item, from, to } = change;
    const { periodAt, cancelAt, ...subscription } = item;
    const changed = ['items', from !== to && 'status', change === activation && 'activatedAt'];
    return {
      recordId: subscriptionIdOf(row),
      version: knownVersion + i + 1,
      sides: [{ customer }],
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
