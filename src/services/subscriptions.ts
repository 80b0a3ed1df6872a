import { and, eq, getTableColumns, sql } from '../../drizzle/orm.ts';
import { subscriptions } from '../../drizzle/tables/subscriptions.ts';
import type { Subscription, SubscriptionStatus, subscriptionSorts } from '../../schemas/subscription.ts';
import { need } from '../access/need.ts';
import { conflict } from '../core/conflicts.ts';
import type { Context } from '../core/context.ts';
import { orNotFound } from '../core/errors.ts';
import { newRecord } from '../core/ids.ts';
import { rowsFromJson } from '../database/statements/jsonRows.ts';
import { statement } from '../database/statements/statement.ts';
import type { IncomingEvent } from '../webhooks/handlers/handler.ts';
import { recordWrites } from './audit.ts';
import { pagedList } from './lists/pagedList.ts';

const { id: _, ...columns } = getTableColumns(subscriptions);

const ofCustomer = statement(columns, (builder, columns) =>
  builder
    .select(columns)
    .from(subscriptions)
    .where(eq(subscriptions.customer, sql.placeholder('customer')))
    .orderBy(subscriptions.id),
);

// One order for all, so that two workers with the same customers do not deadlock.
const newRows = sql`${rowsFromJson(subscriptions)} order by customer, provider`;

const { customer, provider } = subscriptions;
const insertNew = statement({ customer, provider }, (builder, columns) =>
  builder
    .insert(subscriptions)
    .select(newRows)
    .onConflictDoNothing({ target: [customer, provider] })
    .returning(columns),
);

// Locked before they are read, so that `from` is the state that this change ends. Active ones are not locked.
const inactive = sql`(
  select known.id, known.customer, known.status, new.status as to_status, new."activatedAt", new."updatedAt"
  from (${newRows}) as new join ${subscriptions} as known using (customer, provider)
  where known.status <> new.status
  order by known.customer, known.provider for no key update of known
) as before`;
const activateKnown = statement(
  { customer, provider, from: sql<SubscriptionStatus>`before.status` },
  (builder, columns) =>
    builder
      .update(subscriptions)
      .set({
        status: sql`before.to_status`,
        activatedAt: sql`coalesce(${subscriptions.activatedAt}, before."activatedAt")`,
        version: sql`${subscriptions.version} + 1`,
        // Later than the change before it, also when the clock steps back.
        updatedAt: sql`greatest(before."updatedAt", ${subscriptions.updatedAt} + interval '1 millisecond')`,
      })
      .from(inactive)
      // The customer too: where the table is distributed, it names the node.
      .where(and(eq(subscriptions.id, sql`before.id`), eq(customer, sql`before.customer`)))
      .returning(columns),
);

/** A page of subscriptions. */
export const listSubscriptions = pagedList<
  Subscription,
  'status' | 'provider',
  (typeof subscriptionSorts)[number]
>({
  scope: 'read',
  name: 'subscriptions',
  table: subscriptions,
  columns,
  filters: { status: subscriptions.status, provider },
  sorts: { createdAt: [], customer: [customer] },
});

export const severalProviders = conflict('several_providers', {
  summary: 'The customer has subscriptions from several providers',
  message: () => 'The customer has several subscriptions. Name one with `?provider=`.',
  example: { providers: ['stripe', 'paddle'] },
});

/** The subscription of a customer. One with several providers must name one: any choice of ours could be wrong. */
export async function getSubscription(
  context: Context,
  customer: string,
  provider?: string,
): Promise<Subscription> {
  need(context, 'read');
  // No column stores other texts, and Postgres refuses them.
  const isStorable = customer.isWellFormed() && !customer.includes('\0');
  const all = isStorable ? await ofCustomer(context.db, { customer }) : [];
  const matching = all.filter(subscription => provider === undefined || subscription.provider === provider);
  if (matching.length > 1)
    throw severalProviders.error({ providers: matching.map(subscription => subscription.provider) });
  return orNotFound('Subscription', matching[0]);
}

type Payment = Pick<IncomingEvent, 'id' | 'eventId' | 'provider' | 'customer'>;

const nameOf = ({ provider, customer }: Pick<Payment, 'provider' | 'customer'>) => `${provider}:${customer}`;

/** Activates, or creates as active, the subscription of each payment's customer, in the transaction of the events. */
export async function activateSubscriptions(context: Context, payments: Payment[]): Promise<void> {
  need(context, 'write');
  // A statement may change a row only once; the first payment counts.
  const first = new Map<string, Payment>();
  for (const payment of payments.filter(({ customer }) => customer !== null))
    if (!first.has(nameOf(payment))) first.set(nameOf(payment), payment);
  const rows = [...first.values()].map(({ customer, provider }) => {
    const record = newRecord(context);
    return { ...record, customer, provider, status: 'active', activatedAt: record.createdAt };
  });

  const made = await insertNew(context.db, { rows: JSON.stringify(rows) });
  const isMade = new Set(made.map(nameOf));
  const known = rows.filter(row => !isMade.has(nameOf(row)));
  const activated = known.length > 0 ? await activateKnown(context.db, { rows: JSON.stringify(known) }) : [];

  const changes = [...made.map(subscription => ({ ...subscription, from: null })), ...activated];
  const entries = changes.map(({ from, ...subscription }) => {
    const { id: event, eventId } = first.get(nameOf(subscription)) as Payment;
    return { recordId: nameOf(subscription), details: { event, eventId, from, to: 'active' } };
  });
  await recordWrites(context, 'subscription.change', entries);
}
