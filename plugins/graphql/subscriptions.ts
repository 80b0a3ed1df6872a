import { Subscription, SubscriptionItem } from '#schemas/service/subscription.ts';
import { findSubscription, subscription } from '#src/subscriptions/read.ts';
import { listFields } from './fields/lists.ts';
import { toSDL, toType } from './fields/sdl.ts';
import type { SchemaPart } from './schema.ts';

const type = subscription.title;

type OfCustomer = { customer: string; provider?: string | null };

export const subscriptionFields: SchemaPart[] = [
  ...listFields(subscription),
  {
    sdl: /* GraphQL */ `
${toType(Subscription, type)}
${toSDL('type SubscriptionItem', 'Subscription', SubscriptionItem)}
extend type Query {
  "A customer's subscription, or null. For a customer with several providers, the provider is required."
  subscription(customer: ID!, provider: String): ${type}
}`,
    resolvers: {
      Query: {
        subscription: (_, { customer, provider }: OfCustomer, { context }) =>
          findSubscription(context, customer, provider ?? undefined),
      },
    },
  },
];
