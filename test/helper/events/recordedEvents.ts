import { createHmac } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { sign, verify } from '@octokit/webhooks-methods';
import { Paddle } from '@paddle/paddle-node-sdk';
import { Webhook } from 'standardwebhooks';
import Stripe from 'stripe';
import { recordedBody } from '#scripts/lib/webhook/sampleEvent.ts';
import { secret, signatureOf } from './webhooks.ts';

/** The folder with a real body of each provider. */
const folder = new URL('../../../scripts/lib/webhook/bodies/', import.meta.url);
const bodyOf = (path: string) => readFileSync(new URL(`${path}.json`, folder), 'utf8');
export const standardSecret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
export const hmac = (raw: string) => createHmac('sha256', secret).update(raw);
export const octokit = {
  sign: (raw: string) => sign(secret, raw),
  verify: (raw: string, signature: string) => verify(secret, raw, signature),
};
const webhook = new Webhook(standardSecret);
const stripe = new Stripe('sk_test_unused');

export type Name = 'stripe' | 'paddle' | 'lemonsqueezy' | 'razorpay' | 'shopify' | 'github' | 'standard';

interface Recorded {
  body: string;
  /**
   * Returns the headers that the provider sends with a body, signed by its own package or, if there is none, as its
   * documentation says.
   */
  headers: (raw: string) => Record<string, string> | Promise<Record<string, string>>;
  /** Whether the provider's own package accepts what our tests sign; it may also throw. */
  verify?: (raw: string, headers: Record<string, string>) => Promise<boolean>;
  event: Record<string, unknown>;
  /** The status of the subscription afterwards; undefined for an event without a handler. */
  status?: string;
  /** The subscription that the event names, and what was agreed. */
  item?: object;
}

const terms = (currentPeriodEnd: string, cancelAtPeriodEnd: boolean | null = false) => ({
  currentPeriodEnd,
  cancelAtPeriodEnd,
});

/** Returns the time in seconds. */
export const now = () => Math.floor(Date.now() / 1000);
/** An event of each provider, signed as the provider signs it. */
export const recorded: Record<Name, Recorded> = {
  stripe: {
    body: JSON.stringify(recordedBody('stripe', 'customer.subscription.updated'), null, 2),
    headers: raw => ({ 'stripe-signature': signatureOf(raw) }),
    verify: async (raw, headers) =>
      stripe.webhooks.constructEvent(raw, headers['stripe-signature'] ?? '', secret) !== null,
    event: {
      eventId: 'evt_1SVqLkLkdIwHu7ixN0pQm3Xz',
      type: 'customer.subscription.updated',
      customer: 'cus_NffrFeUfNV2Hib',
      occurredAt: '2025-11-21T08:10:11.000Z',
    },
    status: 'active',
    item: { id: 'sub_1SVqLhLkdIwHu7ixTb4cZ2Wy', ...terms('2025-12-21T08:10:00.000Z') },
  },
  paddle: {
    body: bodyOf('paddle/subscription'),
    headers: raw => {
      const ts = now();
      const h1 = createHmac('sha256', secret).update(`${ts}:${raw}`).digest('hex');
      return { 'paddle-signature': `ts=${ts};h1=${h1}` };
    },
    verify: async (raw, headers) =>
      (await new Paddle('key').webhooks.unmarshal(raw, secret, headers['paddle-signature'] ?? '')) !== null,
    event: {
      eventId: 'evt_01kaja2x5n8q0g7wz3m4h6t9rv',
      type: 'subscription.updated',
      customer: 'ctm_01kaj9xq7r9t1v3w5y7z9a2c4e',
      occurredAt: '2025-11-21T08:10:11.482Z',
    },
    status: 'active',
    item: { id: 'sub_01kaj9y6m3s5v7x9z1b2d4f6h8', ...terms('2025-12-21T08:08:30.915Z') },
  },
  lemonsqueezy: {
    body: bodyOf('lemonsqueezy/subscription'),
    headers: raw => ({ 'x-event-name': 'subscription_updated', 'x-signature': hmac(raw).digest('hex') }),
    event: {
      eventId: null,
      type: 'subscription_updated',
      customer: '5120934',
      occurredAt: '2025-11-21T08:10:11.000Z',
    },
    status: 'active',
    item: { id: '1482037', ...terms('2025-12-21T08:08:30.000Z') },
  },
  razorpay: {
    body: bodyOf('razorpay/subscription'),
    headers: raw => ({
      'x-razorpay-event-id': 'RiS5dQ1zMb7HvX',
      'x-razorpay-signature': hmac(raw).digest('hex'),
    }),
    event: {
      eventId: 'RiS5dQ1zMb7HvX',
      type: 'subscription.activated',
      customer: 'cust_RiS2pH4yJs0KdG',
      occurredAt: '2025-11-21T08:10:11.000Z',
    },
    status: 'active',
    item: { id: 'sub_RiS3kD9vXq7LwT', ...terms('2025-12-21T08:10:00.000Z', null) },
  },
  shopify: {
    body: bodyOf('shopify/orders'),
    headers: raw => ({
      'x-shopify-topic': 'orders/paid',
      'x-shopify-webhook-id': 'b54557e4-bdd9-4b37-8a5f-bf7d70bcd043',
      'x-shopify-triggered-at': '2025-11-21T08:10:11.123456789Z',
      'x-shopify-hmac-sha256': hmac(raw).digest('base64'),
    }),
    event: {
      eventId: 'b54557e4-bdd9-4b37-8a5f-bf7d70bcd043',
      type: 'orders/paid',
      customer: '8140293756162',
      occurredAt: '2025-11-21T08:10:11.123Z',
    },
  },
  github: {
    body: bodyOf('github/marketplace_purchase'),
    headers: async raw => ({
      'x-github-event': 'marketplace_purchase',
      'x-github-delivery': '72d3162e-cc78-11e3-81ab-4c9367dc0958',
      'x-hub-signature-256': await octokit.sign(raw),
    }),
    verify: (raw, headers) => octokit.verify(raw, headers['x-hub-signature-256'] ?? ''),
    event: {
      eventId: '72d3162e-cc78-11e3-81ab-4c9367dc0958',
      type: 'marketplace_purchase',
      customer: '18404719',
      occurredAt: '2025-11-21T08:10:11.000Z',
    },
  },
  standard: {
    body: bodyOf('standard/invoice'),
    headers: raw => {
      const at = new Date();
      return {
        'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
        'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
        // A provider sends several signatures while a secret is replaced.
        'webhook-signature': `v1a,xyz ${webhook.sign('msg_p5jXN8AQM9LWM0D4loKWxJek', at, raw)}`,
      };
    },
    verify: async (raw, headers) => webhook.verify(raw, headers) !== undefined,
    event: {
      eventId: 'msg_p5jXN8AQM9LWM0D4loKWxJek',
      type: 'invoice.paid',
      customer: 'cus_01kaj9xq7r9t1v3w5y7z9a2c4e',
      occurredAt: '2025-11-21T08:10:11.482Z',
    },
  },
};
