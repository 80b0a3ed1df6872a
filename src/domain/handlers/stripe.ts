import { type SubscriptionStatus, subscriptionStatuses } from '#schemas/service/subscription.ts';
import type { Handler } from '#src/webhooks/handler.ts';
import { becomes, becomesAsSaid, type SubscriptionSources } from '#src/webhooks/status.ts';

/** Stripe: "The Subscription object". API versions before 2025-03-31 have the period beside the items. */
const subscription: SubscriptionSources = {
  id: 'data.object.id',
  currentPeriodEnd: ['data.object.current_period_end', 'data.object.items.data.0.current_period_end'],
  cancelAtPeriodEnd: 'data.object.cancel_at_period_end',
};

/** "The Invoice object", today's and that of API versions before 2025-03-31. */
const invoice: SubscriptionSources = {
  id: ['data.object.parent.subscription_details.subscription', 'data.object.subscription'],
};

/** The service uses Stripe's words for its statuses. */
const words = Object.fromEntries(subscriptionStatuses.map(status => [status, status]));
const asSaid = becomesAsSaid('data.object.status', words as Record<string, SubscriptionStatus>, subscription);

/** Stripe: "Using webhooks with subscriptions". */
export const stripe = new Map<string, Handler>([
  ['payment_intent.succeeded', becomes('active')],
  ['invoice.payment_failed', becomes('past_due', invoice)],
  ['customer.subscription.created', asSaid],
  ['customer.subscription.updated', asSaid],
  ['customer.subscription.paused', asSaid],
  ['customer.subscription.resumed', asSaid],
  ['customer.subscription.deleted', becomes('canceled', subscription)],
]);
