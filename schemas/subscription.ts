import { type Static, Type } from '@sinclair/typebox';
import { listOf, paging, readOnly, sortBy, strict, text, wholeText } from './common.ts';

/** The words of the largest provider. Today an event can only make a subscription `active`. */
export const subscriptionStatuses = [
  'incomplete',
  'incomplete_expired',
  'trialing',
  'active',
  'past_due',
  'canceled',
  'unpaid',
  'paused',
] as const;
export type SubscriptionStatus = (typeof subscriptionStatuses)[number];

/** A longer one would not fit into an index. */
export const longestCustomer = 255;
const customer = text(1, longestCustomer, "The provider's identifier of the customer.", 'cus_NffrFeUfNV2Hib');
const provider = Type.String({
  maxLength: 64,
  pattern: wholeText,
  description: 'The payment provider, as in the path of its webhook.',
  examples: ['stripe'],
});
const status = Type.Unsafe<SubscriptionStatus>({
  type: 'string',
  enum: subscriptionStatuses,
  description: 'The state of the subscription.',
  examples: ['active'],
});
const activatedAt = Type.Unsafe<string | null>({
  type: ['string', 'null'],
  format: 'date-time',
  description: 'When it became active for the first time; later payments do not move it.',
  examples: ['2026-11-21T09:30:00.000Z'],
});

export const Subscription = strict(
  {
    customer,
    provider,
    status,
    activatedAt,
    createdAt: readOnly.createdAt,
    updatedAt: readOnly.updatedAt,
  },
  { $id: 'Subscription', description: 'What a customer has paid for with one provider. Events write it.' },
);
export type Subscription = Static<typeof Subscription>;

export const SubscriptionPath = strict({
  customer: Type.String({ description: 'The identifier of the customer.', examples: customer.examples }),
});

export const SubscriptionChoice = strict({
  provider: Type.Optional({
    ...provider,
    description: 'The provider whose subscription is meant; needed when the customer has several.',
  }),
});

export const subscriptionSorts = ['createdAt', 'customer'] as const;
export const SubscriptionQuery = strict({
  ...paging,
  sort: sortBy(subscriptionSorts),
  status: Type.Optional({ ...status, description: 'Only subscriptions in this state.' }),
  provider: Type.Optional({ ...provider, description: 'Only subscriptions with this provider.' }),
});
export type SubscriptionQuery = Static<typeof SubscriptionQuery>;

export const SubscriptionList = listOf(Subscription, 'SubscriptionList');
