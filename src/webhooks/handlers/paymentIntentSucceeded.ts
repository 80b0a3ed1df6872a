import { activateSubscriptions } from '../../services/subscriptions.ts';
import type { Handler } from './handler.ts';

/** A payment succeeded: the customer's subscription with that provider is activated, or created active. */
export const paymentIntentSucceeded: Handler = { needsCustomer: true, handle: activateSubscriptions };
