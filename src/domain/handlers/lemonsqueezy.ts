import type { Handler } from '#src/webhooks/handler.ts';
import { becomesAsSaid } from '#src/webhooks/status.ts';

const asSaid = becomesAsSaid(
  'data.attributes.status',
  {
    on_trial: 'trialing',
    active: 'active',
    past_due: 'past_due',
    unpaid: 'unpaid',
    paused: 'paused',
    // The customer can use a cancelled subscription until the end of the paid period.
    cancelled: 'active',
    expired: 'canceled',
  },
  {
    id: 'data.id',
    currentPeriodEnd: ['data.attributes.ends_at', 'data.attributes.renews_at'],
    cancelAtPeriodEnd: 'data.attributes.cancelled',
  },
);

const types = ['created', 'updated', 'cancelled', 'resumed', 'expired', 'paused', 'unpaused'];

/** Lemon Squeezy: "Webhook event types" and "The subscription object". */
export const lemonsqueezy = new Map<string, Handler>(types.map(type => [`subscription_${type}`, asSaid]));
