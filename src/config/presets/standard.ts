import type { Preset } from './preset.ts';

/**
 * The Standard Webhooks specification: "Webhook Headers", "Payload structure" and "Signature scheme". It does not say
 * where the customer is. `webhook-timestamp` is the time of the attempt, not of the event.
 */
export const standard: Preset = {
  scheme: 'standard',
  header: 'webhook-signature',
  id: 'header:webhook-id',
  type: 'type',
  customer: ['data.object.customer', 'data.customer_id', 'data.customer'],
  time: 'timestamp',
};
