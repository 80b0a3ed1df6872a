import { sql } from '../../../drizzle/orm.ts';
import { subscriptions } from '../../../drizzle/tables/subscriptions.ts';
import { need } from '../../access/need.ts';
import type { Context } from '../../core/context.ts';
import { newRecord } from '../../core/ids.ts';
import { arrayText, rowsOfTable } from '../../database/statements/insertRows.ts';
import { type Row, statement } from '../../database/statements/statement.ts';
import { recordWrites } from '../audit.ts';
import { applyEvents, type Outcome, type StatusEvent, timeOfEvent } from './applyEvents.ts';

const { customer, provider, status, activatedAt, items, version, updatedAt } = subscriptions;
const columns = { customer, provider, status, activatedAt, items, version, updatedAt };
type Known = Row<typeof columns>;

const hasCustomer = sql`${customer} = any(${sql.placeholder('customers')}::text[])`;
const findKnown = statement(columns, (builder, columns) =>
  builder.select(columns).from(subscriptions).where(hasCustomer),
);

const fresh = rowsOfTable(subscriptions, [
  ...(['id', 'customer', 'provider', 'status', 'activatedAt', 'items', 'version'] as const),
  ...(['createdAt', 'updatedAt'] as const),
]);
const insertNew = statement({ customer }, (builder, columns) =>
  builder
    .insert(subscriptions)
    .select(fresh.select)
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
interface SubscriptionChange extends Outcome {
  customer: string;
  provider: string;
  before: Known | undefined;
}

const customerKeyOf = ({ provider, customer }: { provider: string; customer: string | null }) =>
  `${provider}:${customer}`;

/**
 * Changes, or creates, the subscription of each event's customer, in the transaction of the events. Returns why
 * events had no effect. The worker has locked the customers.
 */
export async function changeSubscriptions(
  context: Context,
  events: StatusEvent[],
): Promise<Outcome['reasons']> {
  need(context, 'write');
  const named = events.filter(({ event }) => event.customer !== null);
  const customers = arrayText([...new Set(named.map(({ event }) => event.customer))]);
  const known = new Map((await findKnown(context.db, { customers })).map(row => [customerKeyOf(row), row]));
  const changes = [...Map.groupBy(named, ({ event }) => customerKeyOf(event))].map(([key, own]) =>
    changeOf(own, known.get(key)),
  );
  // Sent at once.
  await Promise.all([
    write(context, customers, changes),
    recordWrites(context, 'subscription.change', changes.flatMap(entriesOf)),
  ]);
  return new Map(changes.flatMap(({ reasons }) => [...reasons]));
}

function changeOf(events: StatusEvent[], before: Known | undefined): SubscriptionChange {
  const [{ event }] = events as [StatusEvent];
  const { customer, provider } = event;
  return { customer: customer ?? '', provider, before, ...applyEvents(events, before) };
}

/** Writes all changes or throws: on a distributed database, a change that a crashed node has not shown yet. */
async function write(context: Context, customers: string, changes: SubscriptionChange[]): Promise<void> {
  const isNew = ({ before }: SubscriptionChange) => before === undefined;
  const created = changes.filter(isNew).map(change => rowOf(context, change));
  const changed = changes
    .filter(change => !isNew(change) && change.isMoved)
    .map(change => rowOf(context, change));
  const written = await Promise.all([
    created.length > 0 ? insertNew(context.db, fresh.valuesOf(created)) : [],
    changed.length > 0 ? updateKnown(context.db, { rows: JSON.stringify(changed), customers }) : [],
  ]);
  if (written.flat().length < created.length + changed.length)
    throw new Error('Another worker changed the same subscriptions at this moment.');
}

/** As it is inserted, or as the row that exists becomes. */
function rowOf(context: Context, change: SubscriptionChange) {
  const { customer, provider, before, status, items, changes } = change;
  const record = newRecord(context);
  const isActivated = changes.some(({ to }) => to === 'active');
  const activatedAt = before?.activatedAt ?? (isActivated ? record.createdAt : null);
  const knownVersion = before?.version ?? 0;
  // A status that only has a later time is no new version.
  const updatedAt =
    before && changes.length === 0 ? before.updatedAt : laterThan(before?.updatedAt, record.updatedAt);
  const version = knownVersion + changes.length;
  return { ...record, customer, provider, status, items, activatedAt, version, knownVersion, updatedAt };
}

/** A change is later than the one before it, also when the clock steps back. */
const laterThan = (before: string | undefined, now: string) =>
  before === undefined || now > before ? now : new Date(Date.parse(before) + 1).toISOString();

const entriesOf = ({ changes, ...change }: SubscriptionChange) =>
  changes.map(({ event, item: { periodAt, cancelAt, ...subscription }, from, to }) => ({
    recordId: customerKeyOf(change),
    details: {
      ...{ event: event.id, eventId: event.eventId, occurredAt: timeOfEvent(event), from, to, subscription },
    },
  }));
