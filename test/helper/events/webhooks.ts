import Stripe from 'stripe';
import type { Test } from 'tap';
import { webhookQueue } from '#drizzle/tables/service/webhookQueue.ts';
import type { SubscriptionStatus } from '#schemas/service/subscription.ts';
import type { Settings } from '#schemas/settings.ts';
import { recordedBody } from '#scripts/lib/webhook/sampleEvent.ts';
import type { Context } from '#src/access/context.ts';
import { type Provider, readProviders } from '#src/config/providers.ts';
import { readSettings } from '#src/config/settings.ts';
import { newId } from '#src/core/ids.ts';
import type { Effects } from '#src/effects/effect.ts';
import { startJobs } from '#src/jobs.ts';
import { openMetrics } from '#src/process/metrics.ts';
import type { StatusEvent } from '#src/subscriptions/applyEvents.ts';
import type { Log } from '#src/telemetry/log.ts';
import type { Metrics } from '#src/telemetry/metrics.ts';
import { openCalls } from '#src/webhooks/calls.ts';
import type { Handler, Handlers, IncomingEvent } from '#src/webhooks/handler.ts';
import { receiveEvent } from '#src/webhooks/inbox.ts';
import { giveUp, processBatch } from '#src/webhooks/processing.ts';
import { takeBatch } from '#src/webhooks/queue.ts';
import { build } from '#test/helper/app.ts';
import { countRows, openTestDatabase, testLog } from '#test/helper/database.ts';
import { until } from '#test/rig/process.ts';
import { domain } from '#test/world/index.ts';

/** Returns the values of one metric by its labels as they are written. */
export async function valuesOf(metrics: Metrics, name: string): Promise<Map<string, number>> {
  const lines = (await metrics.registry.metrics()).matchAll(/^(\w+)(\{.*\})? (\S+)$/gm);
  return new Map(
    [...lines]
      .filter(([, metric]) => metric === name)
      .map(([, , labels = '', value]) => [labels, Number(value)]),
  );
}

export const secret = 'whsec_test_0123456789';
const stripe = new Stripe('sk_test_unused');

/** Signs a body by the provider's own package. */
export const signatureOf = (
  payload: string,
  { key = secret, timestamp = Math.floor(Date.now() / 1000) } = {},
) => stripe.webhooks.generateTestHeaderString({ payload, secret: key, timestamp });

/** Returns a complete event as the provider sends it, with this id and customer. */
export function paymentEvent({ id = 'evt_1', customer = 'cus_1' as unknown } = {}) {
  const event = recordedBody('stripe', 'payment_intent.succeeded') as unknown as Stripe.Event;
  Object.assign(event.data.object, { customer });
  return { ...event, id };
}

/** Returns an event after which the subscription has this status. */
export const statusEvent = (
  status: SubscriptionStatus,
  given: Partial<StatusEvent['event']> = {},
): StatusEvent => ({
  status,
  event: {
    id: newId(Date.now()),
    eventId: null,
    provider: 'stripe',
    customer: 'cus_1',
    occurredAt: null,
    createdAt: new Date().toISOString(),
    ...given,
  },
});

export const timeAt = (second: number) => new Date(Date.UTC(2026, 10, 21, 12, 0, second)).toISOString();

/** Works on the queue as a worker does, until nothing is due. */
export async function workThrough(context: Context, all = domain.handlers): Promise<void> {
  const retries = { most: 10, delay: 3600 };
  for (const isAlone of [false, true]) {
    const take = () => takeBatch(context.db, newId(Date.now()), isAlone);
    for (let batch = await take(); batch; batch = await take()) {
      const taken = batch;
      await processBatch(context, all, taken).catch(error => giveUp(context, taken, error, retries));
    }
  }
}

/** Lets several workers empty the queue: an event of a customer whom another worker serves is taken later. */
export async function workTogether(context: Context, workers: number, all = domain.handlers) {
  const work = () => workThrough(context, all);
  await until('the queue is empty', async () => {
    await Promise.all(Array.from({ length: workers }, work));
    return (await countRows(context.db, webhookQueue)) === 0;
  });
}

const { providers } = readProviders(JSON.stringify({ stripe: [secret] }));

/** Stores an event as its delivery does. */
export async function receive(context: Context, event: object) {
  const provider = providers.get('stripe') as Provider;
  const body = Buffer.from(JSON.stringify(event));
  const receipt = await receiveEvent(context, domain.handlers, { provider, headers: {}, body });
  return receipt as NonNullable<typeof receipt>;
}

interface Choices {
  settings?: Partial<Settings>;
  /** Replaces the application of the tests. */
  domain?: typeof domain;
  /** Replaces the real handler of payments; it is called for one event after the other. */
  handle?: (context: Context, event: IncomingEvent) => Promise<void>;
  handlers?: Handlers;
  effects?: Effects;
  /** Milliseconds that an effect has. */
  effectTimeout?: number;
  now?: () => Date;
  log?: Log;
  /** Seconds until the first retry: 1 by default. */
  retryDelay?: number;
}

const oneByOne = (handle: NonNullable<Choices['handle']>): Handler => ({
  effect: '',
  handle: async (context, events) => {
    for (const event of events) await handle(context, event);
    return {};
  },
});

/** Returns handlers with this one alone, for one type of Stripe's events. */
export const handling = (type: string, handler: Handler): Handlers =>
  new Map([['stripe', new Map([[type, handler]])]]);

/** Builds an application with a worker, and the requests that a provider and an operator send. */
export async function buildReceiver(
  t: Test,
  {
    settings,
    domain: application = domain,
    handle,
    handlers,
    effects = {},
    effectTimeout,
    now,
    log = testLog,
    retryDelay = 1,
  }: Choices = {},
) {
  const database = await openTestDatabase(t);
  const calls = openCalls(database);
  const used = handle ? handling('payment_intent.succeeded', oneByOne(handle)) : handlers;
  const given = { ...application, effects, ...(used && { handlers: used }) };
  const shared = {
    settings: { WEBHOOK_SECRETS: JSON.stringify({ stripe: [secret] }), ...settings },
    database,
    metrics: openMetrics(database),
    log,
    ...(now && { now }),
  };
  /** Starts a worker; a second call starts another one, as a restart does. */
  const restart = () => {
    const settings = { ...readSettings({ NODE_ENV: 'test' }), ...shared.settings };
    const limits = { retryDelay, ...(effectTimeout && { effectTimeout }) };
    const jobs = startJobs({ ...shared, settings, calls, ...limits }, given);
    t.teardown(() => jobs.close());
    return jobs;
  };
  const jobs = restart();
  const app = await build(t, { ...shared, domain: given, calls });

  /** Sends a body signed as the provider signs it, and expects the status. */
  async function deliver(
    event: unknown,
    status = 200,
    headers: Record<string, string> = {},
    timestamp?: number,
  ) {
    const raw = typeof event === 'string' ? event : JSON.stringify(event);
    return app.call('POST', '/api/webhooks/stripe', status, {
      raw,
      headers: {
        'content-type': 'application/json',
        'stripe-signature': signatureOf(raw, { ...(timestamp && { timestamp }) }),
        ...headers,
      },
    });
  }

  /** Waits until the first event that the query selects has one of these statuses, and returns it. */
  async function eventually(query: string, ...wanted: string[]) {
    let found: { status: string } | undefined;
    const what = () => `an event with ${query} is ${wanted.join(' or ')}, but ${JSON.stringify(found)}`;
    await until(what, async () => {
      found = (await app.call('GET', `/api/webhook-events?${query}`, 200)).body.data[0];
      return wanted.includes(found?.status ?? '');
    });
    // biome-ignore lint/suspicious/noExplicitAny: tests read all its members
    return found as any;
  }
  return { ...app, metrics: shared.metrics, calls, jobs, restart, deliver, eventually };
}
