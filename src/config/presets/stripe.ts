import type { Preset } from './preset.ts';

/** Stripe: "Verify events are sent from Stripe" and "The Event object". */
export const stripe: Preset = {
  scheme: 'timestamped',
  header: 'stripe-signature',
  id: 'id',
  type: 'type',
  customer: 'data.object.customer',
  time: 'created',
};
