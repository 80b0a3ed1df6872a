import { activateSubscriptions } from '../../services/subscriptions.ts';
import type { Handler } from './handler.ts';

/** A payment went through: the subscription of its customer is active. */
export const paymentIntentSucceeded: Handler = {
  needsCustomer: true,
  handle: activateSubscriptions,
};
