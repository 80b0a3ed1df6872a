import type { Preset } from './preset.ts';

/** Lemon Squeezy: "Signing Requests" and "Webhook Requests". Its events have no id. */
export const lemonsqueezy: Preset = {
  scheme: 'hex',
  header: 'x-signature',
  type: 'meta.event_name',
  customer: 'data.attributes.customer_id',
  time: 'data.attributes.updated_at',
};
