import type { Handler } from '#src/webhooks/handler.ts';
import { becomesAsSaid } from '#src/webhooks/status.ts';

const asSaid = becomesAsSaid(
  'payload.subscription.entity.status',
  {
    created: 'incomplete',
    // The customer has given the mandate; the first payment is due later.
    authenticated: 'trialing',
    active: 'active',
    pending: 'past_due',
    halted: 'unpaid',
    paused: 'paused',
    cancelled: 'canceled',
    completed: 'canceled',
    expired: 'incomplete_expired',
  },
  // Razorpay does not say whether a subscription ends with its period.
  { id: 'payload.subscription.entity.id', currentPeriodEnd: 'payload.subscription.entity.current_end' },
);

const types =
  'authenticated activated charged pending halted paused resumed updated cancelled completed'.split(' ');

/** Razorpay: "Subscription webhook events" and "Subscription states". */
export const razorpay = new Map<string, Handler>(types.map(type => [`subscription.${type}`, asSaid]));
