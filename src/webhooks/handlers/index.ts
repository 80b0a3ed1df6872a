import type { Handlers } from './handler.ts';
import { paymentIntentSucceeded } from './paymentIntentSucceeded.ts';

/** Every type of event that has an effect. All others are stored and ignored. */
export const handlers: Handlers = new Map([['payment_intent.succeeded', paymentIntentSucceeded]]);
