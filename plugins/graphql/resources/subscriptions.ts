import { Subscription, SubscriptionQuery } from '../../../schemas/subscription.ts';
import { AppError } from '../../../src/core/errors.ts';
import { getSubscription, listSubscriptions } from '../../../src/services/subscriptions.ts';
import { toEnum, toSortEnum, toType } from '../sdl.ts';
import { listResolvers } from './lists.ts';
import type { Resource } from './resource.ts';

const sdl = [
  toEnum('SubscriptionStatus', Subscription.properties.status),
  toSortEnum('SubscriptionSort', SubscriptionQuery),
  // In GraphQL, Subscription is the name of a root type.
  toType(Subscription, { status: 'SubscriptionStatus' }, 'CustomerSubscription'),
  /* GraphQL */ `
extend type Query {
  "What customers have paid for: all of it up to a maximum, or one page if page or limit is given."
  subscriptions(
    page: Int
    limit: Int
    sort: SubscriptionSort
    status: SubscriptionStatus
    provider: String
  ): [CustomerSubscription!]!
  "How many subscriptions there are, on all pages together."
  subscriptionsCount(status: SubscriptionStatus, provider: String): Int!
  "A customer's subscription, or null. For a customer with several providers, the provider is required."
  subscription(customer: ID!, provider: String): CustomerSubscription
}`,
];

const { list, count } = listResolvers(listSubscriptions, SubscriptionQuery);

type OfCustomer = { customer: string; provider?: string | null };

export const subscriptions: Resource = {
  sdl,
  Query: {
    subscriptions: list,
    subscriptionsCount: count,
    subscription: (_, { customer, provider }: OfCustomer, { context }) =>
      orNull(getSubscription(context, customer, provider ?? undefined)),
  },
};

/** A 404 of REST is null here. */
const orNull = <T>(record: Promise<T>) =>
  record.catch(error => {
    if (error instanceof AppError && error.code === 'not_found') return null;
    throw error;
  });
