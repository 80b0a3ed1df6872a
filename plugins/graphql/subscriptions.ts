import { Subscription, SubscriptionItem } from '../../schemas/subscription.ts';
import { AppError } from '../../src/core/errors.ts';
import { getSubscription, subscription } from '../../src/services/subscriptions/read.ts';
import { listFields } from './fields/lists.ts';
import { toSDL, toType } from './fields/sdl.ts';
import type { SchemaPart } from './schema.ts';

const type = subscription.title;

type OfCustomer = { customer: string; provider?: string | null };

export const subscriptionFields: SchemaPart[] = [
  ...listFields(subscription),
  {
    sdl: [
      ...toType(Subscription, type),
      toSDL('type SubscriptionItem', 'Subscription', SubscriptionItem),
      /* GraphQL */ `
extend type Query {
  "A customer's subscription, or null. For a customer with several providers, the provider is required."
  subscription(customer: ID!, provider: String): ${type}
}`,
    ],
    resolvers: {
      Query: {
        subscription: (_, { customer, provider }: OfCustomer, { context }) =>
          orNull(getSubscription(context, customer, provider ?? undefined)),
      },
    },
  },
];

/** A 404 of REST is null here. */
const orNull = <T>(record: Promise<T>) =>
  record.catch(error => {
    if (error instanceof AppError && error.code === 'not_found') return null;
    throw error;
  });
