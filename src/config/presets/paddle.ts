import type { Preset } from './preset.ts';

/** Paddle Billing: "Verify webhook signatures" and "Notifications". */
export const paddle: Preset = {
  scheme: 'paddle',
  header: 'paddle-signature',
  id: 'event_id',
  type: 'event_type',
  customer: 'data.customer_id',
  time: 'occurred_at',
};
