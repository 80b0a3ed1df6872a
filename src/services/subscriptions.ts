import { eq, getTableColumns, ne, sql } from 'drizzle-orm';
import { subscriptions } from '../../drizzle/tables.ts';
import type { Subscription, SubscriptionQuery, subscriptionSorts } from '../../schemas/subscription.ts';
import type { Context } from '../core/context.ts';
import { type Orm, prepared } from '../core/database.ts';
import { AppError, found } from '../core/errors.ts';
import { newId } from '../core/ids.ts';
import type { Page } from '../core/pages.ts';
import { rowsOf } from '../core/sharedRows.ts';
import { need } from './access.ts';
import { listing } from './lists.ts';

const { id: _, ...columns } = getTableColumns(subscriptions);

const ofCustomer = prepared('subscriptions of a customer', (db: Orm) =>
  db
    .select(columns)
    .from(subscriptions)
    .where(eq(subscriptions.customer, sql.placeholder('customer')))
    .orderBy(subscriptions.id),
);

// A repeated event meets a subscription that is active, and then nothing is even locked, as the upsert alone would do.
const inactive = sql`not exists (
  select from ${subscriptions} as known
  where known.customer = new.customer and known.provider = new.provider and known.status = 'active'
)`;
const activation = prepared('subscription activation', (db: Orm) =>
  db
    .insert(subscriptions)
    // One order for all, so that two workers with the same customers do not lock crosswise.
    .select(sql`${rowsOf(subscriptions, 'rows')} where ${inactive} order by customer, provider`)
    .onConflictDoUpdate({
      target: [subscriptions.customer, subscriptions.provider],
      set: {
        status: 'active',
        activatedAt: sql`coalesce(${subscriptions.activatedAt}, excluded.activated_at)`,
        updatedAt: sql`excluded.updated_at`,
      },
      setWhere: ne(subscriptions.status, 'active'),
    }),
);

const pageOfSubscriptions = listing<Subscription, 'status' | 'provider', (typeof subscriptionSorts)[number]>(
  'subscriptions',
  {
    table: subscriptions,
    columns,
    filters: {
      status: value => eq(subscriptions.status, value),
      provider: value => eq(subscriptions.provider, value),
    },
    sorts: { createdAt: [], customer: [subscriptions.customer] },
  },
);

/** A page of subscriptions. */
export async function listSubscriptions(
  context: Context,
  query: SubscriptionQuery,
): Promise<Page<Subscription>> {
  need(context, 'read');
  return pageOfSubscriptions(context, query);
}

/**
 * The subscription of a customer; not found when there is none. A customer of several providers has several:
 * then the provider must be named, because any choice of ours could be the wrong one.
 */
export async function getSubscription(
  context: Context,
  customer: string,
  provider?: string,
): Promise<Subscription> {
  need(context, 'read');
  const all = storable(customer) ? await ofCustomer(context.db, 'only').execute({ customer }) : [];
  const fitting = all.filter(subscription => provider === undefined || subscription.provider === provider);
  if (fitting.length > 1)
    throw new AppError('conflict', 'The customer has several subscriptions. Name one with `?provider=`.', {
      code: 'several_providers',
      providers: fitting.map(subscription => subscription.provider),
    });
  return found('Subscription', fitting[0]);
}

const storable = (customer: string) => customer.isWellFormed() && !customer.includes('\0');

interface Payer {
  provider: string;
  customer: string | null;
}

/** Makes the subscriptions of customers active, whatever they were and whether they were. The first activation keeps its time. */
export async function activateSubscriptions(context: Context, payers: Payer[]): Promise<void> {
  need(context, 'write');
  const now = context.now();
  const time = now.toISOString();
  // One statement may meet a row only once.
  const rows = new Map<string, object>();
  for (const { provider, customer } of payers)
    if (customer !== null)
      rows.set(`${provider} ${customer}`, {
        ...{ id: newId(now.getTime()), customer, provider, status: 'active' },
        ...{ activatedAt: time, createdAt: time, updatedAt: time },
      });
  await activation(context.db, 'only').execute({ rows: JSON.stringify([...rows.values()]) });
}
