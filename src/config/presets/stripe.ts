import type { Preset } from './preset.ts';

/** Stripe: "Verify events are sent from Stripe" and "The Event object". Also the default for providers without a preset. */
export const stripe: Preset = {
  scheme: 'timestamped',
  id: 'id',
  type: 'type',
  customer: 'data.object.customer',
  time: 'created',
};
