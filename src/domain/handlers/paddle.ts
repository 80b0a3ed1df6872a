import type { Handler } from '#src/webhooks/handler.ts';
import { becomesAsSaid } from '#src/webhooks/status.ts';

const asSaid = becomesAsSaid(
  'data.status',
  {
    trialing: 'trialing',
    active: 'active',
    past_due: 'past_due',
    paused: 'paused',
    canceled: 'canceled',
  },
  {
    id: 'data.id',
    currentPeriodEnd: 'data.current_billing_period.ends_at',
    // `scheduled_change` is null when nothing is scheduled.
    cancelAtPeriodEnd: ['data.scheduled_change.action', 'data.scheduled_change'],
    cancelWords: { cancel: true, pause: false, resume: false, null: false },
  },
);

const types = [
  'created',
  'activated',
  'trialing',
  'updated',
  'past_due',
  'paused',
  'resumed',
  'canceled',
  'imported',
];

/** Paddle Billing: "Subscriptions" and "Subscription lifecycle" of its webhooks. */
export const paddle = new Map<string, Handler>(types.map(type => [`subscription.${type}`, asSaid]));
