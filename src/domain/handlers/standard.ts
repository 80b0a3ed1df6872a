import type { Handler } from '#src/webhooks/handler.ts';
import { becomes } from '#src/webhooks/status.ts';

/** Standard Webhooks does not say which types there are: add those of your provider. */
export const standard = new Map<string, Handler>([['payment_intent.succeeded', becomes('active')]]);
