import type { Static } from '@sinclair/typebox';
import { limited, nullableTime, oneOf, readOnly, strict, text } from './common.ts';
import { listOf, listParameters, only } from './lists.ts';

/** In Stripe's words. Of two events of the same time, the one with the later word here counts. */
export const subscriptionStatuses = [
  'incomplete',
  'trialing',
  'active',
  'past_due',
  'unpaid',
  'paused',
  'incomplete_expired',
  'canceled',
] as const;
export type SubscriptionStatus = (typeof subscriptionStatuses)[number];

/** What fits into an index. */
export const longestCustomer = 255;
const customer = text(1, longestCustomer, "The provider's identifier of the customer.", 'cus_NffrFeUfNV2Hib');
const provider = limited(64, 'The payment provider, as in the path of its webhook.', 'stripe');
const status = oneOf(subscriptionStatuses, 'The state of the subscription.', 'active');

export const Subscription = strict(
  {
    customer,
    provider,
    status,
    activatedAt: nullableTime('When it first became active; later payments do not change it.'),
    version: readOnly.version,
    createdAt: readOnly.createdAt,
    updatedAt: readOnly.updatedAt,
  },
  {
    $id: 'Subscription',
    description: 'What a customer has paid for with one provider. Webhook events write it.',
  },
);
export type Subscription = Static<typeof Subscription>;

export const SubscriptionChoice = strict({
  provider: only(provider, 'The provider of the subscription; required if the customer has several.'),
});

export const subscriptionSorts = ['createdAt', 'customer'] as const;
export const SubscriptionQuery = strict({
  ...listParameters(subscriptionSorts),
  status: only(status, 'Only subscriptions in this state.'),
  provider: only(provider, 'Only subscriptions with this provider.'),
});
export type SubscriptionQuery = Static<typeof SubscriptionQuery>;

export const SubscriptionList = listOf(Subscription, 'SubscriptionList');
