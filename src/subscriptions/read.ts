import { getTableColumns, sql } from '#drizzle/orm.ts';
import { subscriptions } from '#drizzle/tables/service/subscriptions.ts';
import {
  longestCustomer,
  Subscription,
  SubscriptionQuery,
  type subscriptionSorts,
} from '#schemas/service/subscription.ts';
import type { Context } from '#src/access/context.ts';
import { need } from '#src/access/need.ts';
import type { Followed } from '#src/changes/followed.ts';
import { conflict } from '#src/core/conflicts.ts';
import { fits } from '#src/core/text.ts';
import { arrayText } from '#src/database/statements/insertRows.ts';
import { statement } from '#src/database/statements/statement.ts';
import { PagedList } from '#src/records/lists/pagedList.ts';

// The stored items also have `periodAt` and `cancelAt`, which no schema of an answer names.
const { id: _, ...columns } = getTableColumns(subscriptions);

export const subscriptionList = new PagedList<
  Subscription,
  'status' | 'provider',
  (typeof subscriptionSorts)[number]
>({
  scope: 'read',
  table: subscriptions,
  columns,
  filters: { status: subscriptions.status, provider: subscriptions.provider },
  // The provider has no index, because nearly all records have the same one.
  indexed: ['status'],
  sorts: { customer: [subscriptions.customer] },
});

const hasCustomer = sql`${subscriptions.customer} = any(${sql.placeholder('customers')}::text[])`;
export const ofCustomers = statement(columns, (builder, columns) =>
  builder.select(columns).from(subscriptions).where(hasCustomer).orderBy(subscriptions.id),
);

/** The id of a subscription in the audit log. */
export const subscriptionIdOf = ({ provider, customer }: { provider: string; customer: string | null }) =>
  `${provider}:${customer}`;

async function readAll(context: Context, changes: { id: string }[]) {
  need(context, 'read');
  const ids = changes.map(({ id }) => id.slice(id.indexOf(':') + 1));
  const rows = await ofCustomers(context.db, { customers: arrayText([...new Set(ids)]) });
  return new Map(rows.map(row => [subscriptionIdOf(row), row]));
}

/** What REST and GraphQL know of subscriptions. Each is found by its customer, and events change it. */
export const subscription = {
  name: 'subscription',
  // `Subscription` is the name of a root type of GraphQL.
  title: 'CustomerSubscription',
  plural: 'subscriptions',
  nouns: 'subscriptions',
  path: 'subscriptions',
  scope: 'read',
  contract: { record: Subscription, query: SubscriptionQuery },
  list: subscriptionList,
  parents: { customer: 'customer' },
  counted: [],
  isPrivate: false,
  showsLater: true,
  readAll,
} satisfies Followed & Record<string, unknown>;

export const severalProviders = conflict('several_providers', {
  summary: 'The customer has subscriptions from several providers',
  message: () => 'The customer has several subscriptions. Name one with `?provider=`.',
  example: { providers: ['stripe', 'paddle'] },
});

/**
 * Returns the subscription of a customer, or undefined. The caller must name the provider if there are several: any
 * choice of ours could be wrong.
 */
export async function findSubscription(
  context: Context,
  customer: string,
  provider?: string,
): Promise<Subscription | undefined> {
  need(context, 'read');
  const all = fits(customer, longestCustomer)
    ? await ofCustomers(context.db, { customers: arrayText([customer]) })
    : [];
  const matching = all.filter(subscription => provider === undefined || subscription.provider === provider);
  if (matching.length > 1)
    throw severalProviders({ providers: matching.map(subscription => subscription.provider) });
  return matching[0];
}
