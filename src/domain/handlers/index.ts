import type { Handlers } from '#src/webhooks/handler.ts';
import { lemonsqueezy } from './lemonsqueezy.ts';
import { paddle } from './paddle.ts';
import { razorpay } from './razorpay.ts';
import { standard } from './standard.ts';
import { stripe } from './stripe.ts';

/** Every type of event that has an effect, by the preset of its provider. All others are stored and ignored. */
export const handlers: Handlers = new Map([
  ['stripe', stripe],
  ['standard', standard],
  ['paddle', paddle],
  ['lemonsqueezy', lemonsqueezy],
  ['razorpay', razorpay],
]);
