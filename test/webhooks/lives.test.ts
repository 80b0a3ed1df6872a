import t from 'tap';
import type { AuditEntry } from '#schemas/service/audit.ts';
import type { WebhookEvent } from '#schemas/service/webhookEvent.ts';
import { inside } from '#test/helper/access.ts';
import { lifeOf, story, timeOfStep } from '#test/helper/events/stripeLife.ts';
import { buildReceiver, workThrough, workTogether } from '#test/helper/events/webhooks.ts';
import { randomFrom, seed, shuffle } from '#test/helper/values/random.ts';

t.test('a real life of a subscription ends the same in order, in reverse and shuffled', async t => {
  const { call, deliver, eventually, restart } = await buildReceiver(t);
  restart();
  const random = randomFrom(seed);
  const ends: unknown[] = [];
  for (const [customer, order] of [
    ['in_order', <T>(events: T[]) => events],
    ['reversed', <T>(events: T[]) => events.toReversed()],
    ['shuffled', <T>(events: T[]) => shuffle([...events, ...events], random)],
  ] as const) {
    for (const event of order(lifeOf(customer))) {
      await deliver(event);
      // Waits for each event, so that they are processed in the order in which they arrive.
      await eventually(`event=${event.id}`, 'processed');
    }
    const { body } = await call('GET', `/api/subscriptions/${customer}`, 200);
    t.match(body, { status: 'canceled' }, `${customer}, seed ${seed}`);
    ends.push(body.items);
    const { data } = (await call('GET', `/api/audit?record=stripe:${customer}`, 200)).body;
    const told = data.toReversed().map(({ details }: AuditEntry) => details);
    t.equal(told.length, body.version);
    if (customer !== 'in_order') continue;
    t.same(
      told.map(({ from, to, occurredAt }: Record<string, string>) => [from, to, occurredAt]),
      story.map(([to, minute], n) => [story[n - 1]?.[0] ?? null, to, timeOfStep(minute)]),
    );
    const { data: events } = (await call('GET', '/api/webhook-events?event=evt_in_order_8', 200)).body;
    t.match(data[0], {
      action: 'subscription.change',
      actorKind: 'system',
      actorName: 'jobs',
      transport: 'job',
    });
    t.match(data[0].details, { event: events[0].id, eventId: 'evt_in_order_8', subscription: body.items[1] });
  }
  t.same(ends, Array(3).fill(ends[0]));
  t.match(ends[0], [
    { id: null, status: 'active', statusAt: timeOfStep(30), currentPeriodEnd: null },
    {
      id: /^sub_/,
      status: 'canceled',
      statusAt: timeOfStep(40),
      currentPeriodEnd: /Z$/,
      cancelAtPeriodEnd: false,
    },
  ]);
  const eventsOf = async (customer: string): Promise<WebhookEvent[]> =>
    (await call('GET', `/api/webhook-events?customer=${customer}&limit=100`, 200)).body.data;
  const late = 'A later event had made the subscription canceled.';
  const other = 'The event names no subscription, and the customer has some that are named.';
  t.same(
    (await eventsOf('reversed')).toReversed().map(({ reason }) => reason),
    [null, late, other, late, late, late, late, other, late],
    'what came too late says so, the end does not',
  );
  t.same(
    (await eventsOf('shuffled')).map(({ deliveries }) => deliveries),
    Array(9).fill(2),
  );
});

t.test(
  'bug: in a batch, events of several types were applied type by type and not in their order',
  async t => {
    const { call, database, deliver, jobs } = await buildReceiver(t);
    await jobs.close();
    for (const event of lifeOf('cus_1').reverse()) await deliver(event);
    await workThrough(inside(database));
    const audit = (await call('GET', '/api/audit?record=stripe:cus_1', 200)).body.data.toReversed();
    // Two events of the same time may change places, so only changes of the status are compared.
    const withoutRepeats = (states: string[]) => states.filter((state, n) => state !== states[n - 1]);
    t.same(
      withoutRepeats(audit.map(({ details }: { details: Record<string, string> }) => details.to)),
      withoutRepeats(story.map(([to]) => to)),
    );
    const { body } = await call('GET', '/api/subscriptions/cus_1', 200);
    t.match(body, { status: 'canceled', activatedAt: String });
  },
);

t.test('lives of several subscriptions, processed by several workers at once, end the same', async t => {
  const { call, database, deliver, jobs } = await buildReceiver(t);
  await jobs.close();
  const customers = Array.from({ length: 8 }, (_, n) => `cus_${n}`);
  // Each customer has a second subscription, which goes on.
  const other = (customer: string) => {
    const [created, , updated] = lifeOf(customer).map(event => structuredClone(event));
    for (const event of [created, updated]) if (event) Object.assign(event.data.object, { id: 'sub_other' });
    return [created, updated].map(event => ({ ...event, id: `${event?.id}_other` }));
  };
  const events = customers.flatMap(customer => [...lifeOf(customer), ...other(customer)]);
  await Promise.all(shuffle([...events, ...events], randomFrom(seed)).map(event => deliver(event)));
  await workTogether(inside(database), 3);
  const { data } = (await call('GET', '/api/subscriptions?limit=100', 200)).body;
  t.equal(data.length, customers.length);
  for (const { status, items, version, customer } of data) {
    t.equal(status, 'active', `seed ${seed}`);
    t.same(items, data[0].items);
    const entries = (await call('GET', `/api/audit?record=stripe:${customer}&limit=100`, 200)).body.data;
    t.equal(entries.length, version, 'each change is in the audit log');
  }
  t.match(data[0].items, [{ id: null }, { status: 'canceled' }, { id: 'sub_other', status: 'active' }]);
});
