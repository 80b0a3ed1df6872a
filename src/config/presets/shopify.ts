import type { Preset } from './preset.ts';

/** Shopify: "Verify webhook deliveries" and "Webhook headers". */
export const shopify: Preset = {
  scheme: 'base64',
  header: 'x-shopify-hmac-sha256',
  id: 'header:x-shopify-webhook-id',
  type: 'header:x-shopify-topic',
  customer: ['customer.id', 'customer_id'],
  time: 'header:x-shopify-triggered-at',
};
