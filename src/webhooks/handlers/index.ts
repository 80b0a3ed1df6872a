import { activateSubscriptions } from '../../services/subscriptions.ts';
import type { Handler, Handlers } from './handler.ts';

/** Every type of event that has an effect. All others are stored and ignored. */
export const handlers: Handlers = new Map<string, Handler>([
  [
    'payment_intent.succeeded',
    {
      effect: 'The subscription of `data.object.customer` becomes active.',
      needsCustomer: true,
      handle: activateSubscriptions,
    },
  ],
]);
