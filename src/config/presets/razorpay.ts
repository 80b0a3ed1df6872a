import type { Preset } from './preset.ts';

/** Razorpay: "Validate and Test Webhooks" and "Webhook Payloads". */
export const razorpay: Preset = {
  scheme: 'hex',
  header: 'x-razorpay-signature',
  id: 'header:x-razorpay-event-id',
  type: 'event',
  customer: ['payload.subscription.entity.customer_id', 'payload.payment.entity.customer_id'],
  time: 'created_at',
};
