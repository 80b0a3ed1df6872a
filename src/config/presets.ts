import type { ProviderSettings } from '#schemas/service/provider.ts';

/** Where a part of an event is. */
export type Source = NonNullable<ProviderSettings['id']>;

/** How a provider sends its events. If `id` is absent, equal bodies are one event. */
export type Preset = Required<Pick<ProviderSettings, 'scheme' | 'header' | 'type'>> &
  Pick<ProviderSettings, 'id' | 'customer' | 'time'>;

/** The providers that need no more than a secret. */
export const presets = {
  /** Stripe: "Verify events are sent from Stripe" and "The Event object". */
  stripe: {
    scheme: 'timestamped',
    header: 'stripe-signature',
    id: 'id',
    type: 'type',
    customer: 'data.object.customer',
    time: 'created',
  },
  /** Paddle Billing: "Verify webhook signatures" and "Notifications". */
  paddle: {
    scheme: 'paddle',
    header: 'paddle-signature',
    id: 'event_id',
    type: 'event_type',
    customer: 'data.customer_id',
    time: 'occurred_at',
  },
  /** Lemon Squeezy: "Signing Requests" and "Webhook Requests". Its events have no id. */
  lemonsqueezy: {
    scheme: 'hex',
    header: 'x-signature',
    type: 'meta.event_name',
    customer: 'data.attributes.customer_id',
    time: 'data.attributes.updated_at',
  },
  /** Razorpay: "Validate and Test Webhooks" and "Webhook Payloads". */
  razorpay: {
    scheme: 'hex',
    header: 'x-razorpay-signature',
    id: 'header:x-razorpay-event-id',
    type: 'event',
    customer: ['payload.subscription.entity.customer_id', 'payload.payment.entity.customer_id'],
    time: 'created_at',
  },
  /** Shopify: "Verify webhook deliveries" and "Webhook headers". */
  shopify: {
    scheme: 'base64',
    header: 'x-shopify-hmac-sha256',
    id: 'header:x-shopify-webhook-id',
    type: 'header:x-shopify-topic',
    customer: ['customer.id', 'customer_id'],
    time: 'header:x-shopify-triggered-at',
  },
  /** GitHub: "Validating webhook deliveries" and "Webhook events and payloads". Most events name no time. */
  github: {
    scheme: 'sha256',
    header: 'x-hub-signature-256',
    id: 'header:x-github-delivery',
    type: 'header:x-github-event',
    customer: ['marketplace_purchase.account.id', 'sponsorship.sponsor.id'],
    time: 'effective_date',
  },
  /**
   * The Standard Webhooks specification: "Webhook Headers", "Payload structure" and "Signature scheme". It does not say
   * where the customer is. `webhook-timestamp` is the time of the attempt, not of the event.
   */
  standard: {
    scheme: 'standard',
    header: 'webhook-signature',
    id: 'header:webhook-id',
    type: 'type',
    customer: ['data.object.customer', 'data.customer_id', 'data.customer'],
    time: 'timestamp',
  },
} satisfies Record<string, Preset>;
export type PresetName = keyof typeof presets;

export const isPreset = (name: string): name is PresetName => Object.hasOwn(presets, name);
