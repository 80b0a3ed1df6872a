import { activateSubscriptions } from '../../services/subscriptions.ts';
import type { Handler } from './handler.ts';

/** A payment succeeded: the customer's subscription becomes active. */
export const paymentIntentSucceeded: Handler = { needsCustomer: true, handle: activateSubscriptions };
