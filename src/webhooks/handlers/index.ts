import { activateSubscriptions } from '../../services/subscriptions.ts';
import type { Handlers } from './handler.ts';

/** Every type of event that has an effect. All others are stored and ignored. */
export const handlers: Handlers = new Map([
  // The customer's subscription with that provider is activated, or created active.
  ['payment_intent.succeeded', { needsCustomer: true, handle: activateSubscriptions }],
]);
