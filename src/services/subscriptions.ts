import { eq, getTableColumns, ne, sql } from 'drizzle-orm';
import { subscriptions } from '../../drizzle/tables.ts';
import type { Subscription, subscriptionSorts } from '../../schemas/subscription.ts';
import type { Context } from '../core/context.ts';
import { type Orm, prepared } from '../core/database.ts';
import { AppError, found } from '../core/errors.ts';
import { newId } from '../core/ids.ts';
import { listing } from './lists.ts';

const { id: _, ...columns } = getTableColumns(subscriptions);

const ofCustomer = prepared('subscriptions of a customer', (db: Orm) =>
  db
    .select(columns)
    .from(subscriptions)
    .where(eq(subscriptions.customer, sql.placeholder('customer')))
    .orderBy(subscriptions.id),
);

// Written once: a repeated event meets a subscription that is active, and then nothing changes at all.
const activation = prepared('subscription activation', (db: Orm) =>
  db
    .insert(subscriptions)
    .values({
      id: sql.placeholder('id'),
      customer: sql.placeholder('customer'),
      provider: sql.placeholder('provider'),
      status: 'active',
      activatedAt: sql.placeholder('time'),
      createdAt: sql.placeholder('time'),
      updatedAt: sql.placeholder('time'),
    })
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

/** A page of subscriptions. */
export const listSubscriptions = listing<
  Subscription,
  'status' | 'provider',
  (typeof subscriptionSorts)[number]
>('subscriptions', {
  table: subscriptions,
  columns,
  filters: {
    status: value => eq(subscriptions.status, value),
    provider: value => eq(subscriptions.provider, value),
  },
  sorts: { createdAt: [], customer: [subscriptions.customer] },
});

/**
 * The subscription of a customer; not found when there is none. A customer of several providers has several:
 * then the provider must be named, because any choice of ours could be the wrong one.
 */
export async function getSubscription(
  { db }: Context,
  customer: string,
  provider?: string,
): Promise<Subscription> {
  const all = storable(customer) ? await ofCustomer(db, 'only').execute({ customer }) : [];
  const fitting = all.filter(subscription => provider === undefined || subscription.provider === provider);
  if (fitting.length > 1)
    throw new AppError('conflict', 'The customer has several subscriptions. Name one with `?provider=`.', {
      code: 'several_providers',
      providers: fitting.map(subscription => subscription.provider),
    });
  return found('Subscription', fitting[0]);
}

const storable = (customer: string) => customer.isWellFormed() && !customer.includes('\0');

/** Makes a subscription active, whatever it was and whether it was. The first activation keeps its time. */
export async function activateSubscription(
  { db, now }: Context,
  { customer, provider }: { customer: string; provider: string },
): Promise<void> {
  const time = now();
  const values = { id: newId(time.getTime()), customer, provider, time: time.toISOString() };
  await activation(db, 'only').execute(values);
}
