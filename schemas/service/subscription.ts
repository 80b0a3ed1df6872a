import { type Static, Type } from '@sinclair/typebox';
import {
  limited,
  nullableText,
  nullableTime,
  oneOf,
  readOnly,
  storedTime,
  strict,
  text,
} from '#schemas/parts/common.ts';
import { only, several } from '#schemas/parts/filters.ts';
import { listParameters, listSchema } from '#schemas/parts/lists.ts';

/** The states in Stripe's words, the best first: a customer with several subscriptions has the best of their states. */
export const subscriptionStatuses = [
  'active',
  'trialing',
  'past_due',
  'unpaid',
  'paused',
  'incomplete',
  'incomplete_expired',
  'canceled',
] as const;
export type SubscriptionStatus = (typeof subscriptionStatuses)[number];

/** The characters that fit into an index. */
export const longestCustomer = 255;
const customer = text(1, longestCustomer, "The provider's identifier of the customer.", 'cus_NffrFeUfNV2Hib');
const provider = limited(64, 'The payment provider, as in the path of its webhook.', 'stripe');
const status = oneOf(subscriptionStatuses, 'The state of the subscription.', 'active');

/** How many subscriptions of a customer are kept at most. */
export const mostItems = 100;

export const SubscriptionItem = strict(
  {
    id: nullableText(
      "The provider's id of the subscription; null for events that name none, such as single payments.",
      'sub_1MowQVLkdIwHu7ixeRlqHVzs',
    ),
    status: oneOf(subscriptionStatuses, 'The state of this subscription.', 'active'),
    statusAt: storedTime(
      'When the latest event with this state happened. An event that repeats the state is no new version.',
    ),
    currentPeriodEnd: nullableTime('Until when it is paid; null if the provider has not said.'),
    cancelAtPeriodEnd: Type.Unsafe<boolean | null>({
      type: ['boolean', 'null'],
      description: 'Whether it ends then; null if the provider has not said.',
      examples: [false],
    }),
  },
  { $id: 'SubscriptionItem', description: 'One subscription of a customer with a provider.' },
);
export type SubscriptionItem = Static<typeof SubscriptionItem>;

/** An item as it is stored. */
export interface KnownItem extends SubscriptionItem {
  /** When the events happened that set `currentPeriodEnd` and `cancelAtPeriodEnd`. */
  periodAt: string | null;
  cancelAt: string | null;
}

export const Subscription = strict(
  {
    customer,
    provider,
    status: {
      ...status,
      description:
        'The best state of the items, in the order of these words. The item without an id counts only while no other is known.',
    },
    activatedAt: nullableTime('When it first became active; later payments do not change it.'),
    items: Type.Array(SubscriptionItem, {
      description: `Each subscription that the customer has or had, at most ${mostItems}: the oldest that have ended go first, then those in the worst state.`,
    }),
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
  'status[in]': several(status),
  provider: only(provider, 'Only subscriptions with this provider.'),
});
export type SubscriptionQuery = Static<typeof SubscriptionQuery>;

export const SubscriptionList = listSchema(Subscription, 'SubscriptionList');
