import type { EffectsOf } from '#src/effects/effect.ts';
import type { resources } from './resources.ts';

/**
 * What happens after a change, such as a mail after a payment:
 *
 *   'subscription.change': async ({ record }, { key, signal }) => {
 *     await openAccount(record?.customer, { idempotencyKey: key, signal });
 *   },
 *
 * It is called at least once for each change of this name, outside of a transaction, and again after it has thrown.
 * docs/effects.md says more.
 */
export const effects: EffectsOf<typeof resources> = {};
