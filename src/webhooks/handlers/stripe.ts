import { type SubscriptionStatus, subscriptionStatuses } from '../../../schemas/subscription.ts';
import type { Handler } from './handler.ts';
import { becomes, becomesAsSaid } from './status.ts';

/** Our words are Stripe's: "The Subscription object". */
const words = Object.fromEntries(subscriptionStatuses.map(status => [status, status]));
const asSaid = becomesAsSaid('data.object.status', words as Record<string, SubscriptionStatus>);

/** Stripe: "Using webhooks with subscriptions". */
export const stripe = new Map<string, Handler>([
  ['payment_intent.succeeded', becomes('active')],
  ['invoice.payment_failed', becomes('past_due')],
  ['customer.subscription.created', asSaid],
  ['customer.subscription.updated', asSaid],
  ['customer.subscription.paused', asSaid],
  ['customer.subscription.resumed', asSaid],
  ['customer.subscription.deleted', becomes('canceled')],
]);
