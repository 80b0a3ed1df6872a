import t from 'tap';
import { sampleEvent } from '#scripts/lib/webhook/sampleEvent.ts';
import { presets } from '#src/config/presets.ts';
import { type Provider, readProviders } from '#src/config/providers.ts';
import { handlers } from '#src/domain/handlers/index.ts';
import {
  hmac,
  type Name,
  now,
  octokit,
  recorded,
  standardSecret,
} from '#test/helper/events/recordedEvents.ts';
import { buildReceiver, paymentEvent, secret } from '#test/helper/events/webhooks.ts';

const secrets = Object.keys(presets).map(name => [name, [name === 'standard' ? standardSecret : secret]]);
const settings = { WEBHOOK_SECRETS: JSON.stringify(Object.fromEntries(secrets)) };

t.test('each provider needs no more than a secret; a changed or unsigned body is refused', async t => {
  const { call, eventually } = await buildReceiver(t, { settings });
  for (const [name, { body, headers, verify, event, status, item }] of Object.entries(recorded)) {
    const sent = await headers(body);
    const changed = body.replace('2000', '2001').replace('"id"', '"Id"');
    const accepts = async (raw: string) => verify?.(raw, sent).catch(() => false);
    if (verify) {
      t.equal(await accepts(body), true, `the package of ${name} accepts the body`);
      t.equal(await accepts(changed), false, `the package of ${name} refuses a changed one`);
    }
    const send = (raw: string, expected: number, given = sent) =>
      call('POST', `/api/webhooks/${name}`, expected, { raw, headers: given });
    await send(changed, 400);
    await send(body, 400, {});
    await send(body, 200);
    const stored = await eventually(`provider=${name}`, status ? 'processed' : 'ignored');
    t.match(stored, { ...event, deliveries: 1 }, name);
    t.equal(stored.reason, status ? null : 'No handler for events of this type.', name);
    await send(body, 200);
    const { data } = (await call('GET', `/api/webhook-events?provider=${name}`, 200)).body;
    t.match(data, [{ deliveries: 2 }], name);
    if (!status) continue;
    const path = `/api/subscriptions/${event.customer}?provider=${name}`;
    t.match((await call('GET', path, 200)).body, { status, items: [{ status, ...item }] }, name);
  }
});

t.test('bug: two deliveries of GitHub with one body were one event', async t => {
  const { call } = await buildReceiver(t, { settings });
  const raw = '{"zen":"Keep it logically awesome."}';
  for (const id of ['1', '2', '2']) {
    const headers = {
      'x-github-event': 'ping',
      'x-github-delivery': id,
      'x-hub-signature-256': await octokit.sign(raw),
    };
    await call('POST', '/api/webhooks/github', 200, { raw, headers });
  }
  const { data } = (await call('GET', '/api/webhook-events?type=ping', 200)).body;
  t.match(data, [
    { eventId: '2', deliveries: 2 },
    { eventId: '1', deliveries: 1 },
  ]);
});

t.test("each provider's own words become Stripe's", async t => {
  const { call, eventually } = await buildReceiver(t, { settings });
  const cases: [Name, string, string][] = [
    ['paddle', 'past_due', 'past_due'],
    ['lemonsqueezy', 'on_trial', 'trialing'],
    ['lemonsqueezy', 'unpaid', 'unpaid'],
    ['lemonsqueezy', 'cancelled', 'active'],
    ['razorpay', 'authenticated', 'trialing'],
    ['razorpay', 'pending', 'past_due'],
  ];
  for (const [n, [name, word, status]] of cases.entries()) {
    const { body, headers, event } = recorded[name];
    const customer = `${900 + n}`;
    const raw = body
      .replaceAll(String(event.customer), customer)
      .replace('"status": "active"', `"status": "${word}"`)
      .replace(`"${event.eventId}"`, `"evt_${n}"`);
    await call('POST', `/api/webhooks/${name}`, 200, {
      raw,
      headers: { ...(await headers(raw)), 'x-razorpay-event-id': `evt_${n}` },
    });
    await eventually(`customer=${customer}`, 'processed');
    const { body: record } = await call('GET', `/api/subscriptions/${customer}`, 200);
    t.match(record, { provider: name, status }, word);
  }
});

t.test('each provider says which subscription an event is about, and what was agreed', async t => {
  const { call, deliver, eventually } = await buildReceiver(t, { settings });
  const stored = async (id: string, customer: string) => {
    await eventually(`event=${id}`, 'processed');
    return (await call('GET', `/api/subscriptions/${customer}`, 200)).body.items;
  };
  let second = now();
  const stripe = (id: string, type: string, object: object) =>
    deliver({ id, type, created: second++, data: { object } });
  const end = { current_period_end: 1766304600 };
  // Sends events of Stripe from before and since its API version 2025-03-31.
  for (const [n, period] of [end, { items: { data: [end] } }].entries()) {
    const customer = `cus_${n}`;
    const object = { id: 'sub_1', customer, status: 'active', cancel_at_period_end: true, ...period };
    await stripe(`evt_${n}`, 'customer.subscription.updated', object);
    const known = { currentPeriodEnd: '2025-12-21T08:10:00.000Z', cancelAtPeriodEnd: true };
    t.match(await stored(`evt_${n}`, customer), [{ id: 'sub_1', status: 'active', ...known }]);
    const parent = { subscription_details: { subscription: 'sub_1' } };
    const invoice = n === 0 ? { customer, subscription: { id: 'sub_1' } } : { customer, parent };
    await stripe(`evt_${n}_failed`, 'invoice.payment_failed', invoice);
    t.match(await stored(`evt_${n}_failed`, customer), [{ id: 'sub_1', status: 'past_due', ...known }]);
  }
  await stripe('evt_other', 'invoice.payment_failed', { customer: 'cus_3' });
  t.match(await stored('evt_other', 'cus_3'), [{ id: null, status: 'past_due' }]);
  // A scheduled change need not be a cancellation.
  for (const [change, cancelAtPeriodEnd] of Object.entries({ cancel: true, pause: false })) {
    const raw = recorded.paddle.body
      .replaceAll(String(recorded.paddle.event.customer), `ctm_${change}`)
      .replace(String(recorded.paddle.event.eventId), `evt_${change}`)
      .replace('"scheduled_change": null', `"scheduled_change": { "action": "${change}" }`);
    await call('POST', '/api/webhooks/paddle', 200, { raw, headers: await recorded.paddle.headers(raw) });
    t.match(await stored(`evt_${change}`, `ctm_${change}`), [{ cancelAtPeriodEnd }]);
  }
});

t.test(
  'a preset can serve a provider of another name, and settings can describe one without a preset',
  async t => {
    const other = {
      'shop-eu': { preset: 'paddle', secrets: [secret] },
      acme: {
        scheme: 'hex',
        header: 'x-acme',
        id: 'header:x-acme-id',
        type: ['kind', 'type'],
        customer: ['data.user', 'data.account'],
        time: 'at',
        secrets: [secret],
      },
      // The name of a provider selects no preset when a scheme is given, as in settings from before there were presets.
      github: { scheme: 'sha256', secrets: [secret] },
    };
    const { call, eventually } = await buildReceiver(t, {
      settings: { WEBHOOK_SECRETS: JSON.stringify(other) },
    });
    const { body, headers } = recorded.paddle;
    await call('POST', '/api/webhooks/shop-eu', 200, { raw: body, headers: await headers(body) });
    t.match(await eventually('provider=shop-eu', 'processed'), recorded.paddle.event);
    const type = 'payment_intent.succeeded';
    const raw = JSON.stringify({ type, at: 1763712611123, data: { account: { id: 7 } } });
    const acme = { 'x-acme': hmac(raw).digest('hex'), 'x-acme-id': 'a-1' };
    await call('POST', '/api/webhooks/acme', 200, { raw, headers: acme });
    const expected = { eventId: 'a-1', type, customer: '7', occurredAt: '2025-11-21T08:10:11.123Z' };
    t.match(await eventually('provider=acme', 'processed'), expected);
    const payment = JSON.stringify(paymentEvent({ customer: 'cus_9' }));
    const signature = { 'github-signature': await octokit.sign(payment) };
    await call('POST', '/api/webhooks/github', 200, { raw: payment, headers: signature });
    await eventually('provider=github&customer=cus_9', 'processed');
  },
);

t.test('a time that cannot be right is no time', async t => {
  const { call, deliver } = await buildReceiver(t);
  const soon = now() + 60;
  const times: [unknown, string | null][] = [
    [soon, new Date(soon * 1000).toISOString()],
    [now() + 3600, null],
    [-1, null],
    [1e300, null],
    ['tomorrow', null],
    ['2025-11-21 08:10:11', null],
    ['2025-11-21T08:10:11+01:00', '2025-11-21T07:10:11.000Z'],
    [0, null],
    [{}, null],
    // Bug: the conversion to text threw, and the event was refused with a 500.
    [{ toString: 1 }, null],
    [[[{ toString: 1 }]], null],
    [[1763712611], null],
    [null, null],
    [1763712611.5, '2025-11-21T08:10:11.500Z'],
  ];
  for (const [n, [created]] of times.entries())
    await deliver({ ...paymentEvent({ id: `evt_${n}` }), created });
  for (const [n, [created, expected]] of times.entries()) {
    const { data } = (await call('GET', `/api/webhook-events?event=evt_${n}`, 200)).body;
    t.equal(data[0].occurredAt, expected, JSON.stringify(created));
  }
});

t.test('the command has a true event of every type that is handled', async t => {
  const { call, eventually } = await buildReceiver(t, { settings });
  const { providers } = readProviders(settings.WEBHOOK_SECRETS);
  // The last word of a type names the status in its event, if that is about a subscription.
  const said: [word: RegExp, status: string][] = [
    [/[._]paused$/, 'paused'],
    [/[._]past_due$/, 'past_due'],
    [/[._]trialing$/, 'trialing'],
    [/[._]halted$/, 'unpaid'],
    [/[._](canceled|expired|completed|deleted)$/, 'canceled'],
  ];
  for (const [name, own] of handlers)
    for (const [type, { status: path, effect }] of own) {
      const customer = `${name} ${type}`;
      const provider = providers.get(name) as Provider;
      const { body, headers } = sampleEvent(provider, { type, id: `evt_${type}`, customer });
      await call('POST', `/api/webhooks/${name}`, 200, { raw: body, headers });
      const query = new URLSearchParams({ customer });
      // An event with another effect may find nothing to change.
      if (!effect.includes('subscription becomes')) {
        t.match(await eventually(`${query}`, 'processed', 'ignored'), { type }, customer);
        continue;
      }
      t.match(await eventually(`${query}`, 'processed'), { type, reason: null, occurredAt: /Z$/ }, customer);
      const [, expected] = said.find(([word]) => word.test(type)) ?? [];
      const { status } = (await call('GET', `/api/subscriptions/${encodeURIComponent(customer)}`, 200)).body;
      if (expected && (path || type.endsWith('.deleted'))) t.equal(status, expected, customer);
      if (!type.startsWith('customer.subscription.')) continue;
      // Stripe documents these members at "The Event object" and "The Subscription object".
      const { previous_attributes: previous, object } = JSON.parse(body.toString()).data;
      t.equal(object.status, status, customer);
      t.equal(previous !== undefined, type.endsWith('.updated'), customer);
      for (const member of ['canceled_at', 'ended_at'])
        t.equal(object[member] !== null, status === 'canceled', customer);
    }
});
