import type Stripe from 'stripe';
import { recordedBody } from '#scripts/lib/webhook/sampleEvent.ts';

type Step = [type: Stripe.Event['type'], minute: number, status?: Stripe.Subscription.Status];

/**
 * What Stripe sends from the first payment to the end, and when. Some changes are told twice: by an event of a payment
 * and by one of the subscription.
 */
const steps: Step[] = [
  ['customer.subscription.created', 0, 'incomplete'],
  ['payment_intent.succeeded', 1],
  ['customer.subscription.updated', 1, 'active'],
  ['invoice.payment_failed', 10],
  ['customer.subscription.updated', 10, 'past_due'],
  ['customer.subscription.updated', 20, 'unpaid'],
  ['payment_intent.succeeded', 30],
  ['customer.subscription.updated', 30, 'active'],
  ['customer.subscription.deleted', 40, 'canceled'],
];

/**
 * Each status that the audit log has after a delivery in order, and the time of its event. The first payment names no
 * subscription: it makes an item of its own, whose status does not count.
 */
export const story = [
  ['incomplete', 0],
  ['incomplete', 1],
  ['active', 1],
  ['past_due', 10],
  ['unpaid', 20],
  ['active', 30],
  ['canceled', 40],
] as const;

const began = Date.UTC(2026, 9, 1, 8);
export const timeOfStep = (minute: number) => new Date(began + minute * 60_000).toISOString();

/** Returns the events of a customer's subscription as Stripe sends them. */
export const lifeOf = (customer: string): Stripe.Event[] =>
  steps.map(([type, minute, status], step) => {
    const event = recordedBody('stripe', type) as unknown as Stripe.Event;
    Object.assign(event.data.object, { customer, ...(status && { status }) });
    const created = (began + minute * 60_000) / 1000;
    return { ...event, id: `evt_${customer}_${step}`, type, created } as Stripe.Event;
  });
