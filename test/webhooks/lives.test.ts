import fc from 'fast-check';
import t from 'tap';
import { asc, eq } from '../../drizzle/orm.ts';
import { auditLog } from '../../drizzle/tables/auditLog.ts';
import { subscriptions } from '../../drizzle/tables/subscriptions.ts';
import { type SubscriptionStatus, subscriptionStatuses } from '../../schemas/subscription.ts';
import { orm } from '../../src/database/connection.ts';
import { applyEvents } from '../../src/services/subscriptionStatus/applyEvents.ts';
import { failOnRequest } from '../../src/webhooks/handlers/failing.ts';
import type { Handler } from '../../src/webhooks/handlers/handler.ts';
import { handlers } from '../../src/webhooks/handlers/index.ts';
import { stripe } from '../../src/webhooks/handlers/stripe.ts';
import { processEvents } from '../../src/webhooks/processing.ts';
import { inside } from '../helper/access.ts';
import { backend, openTestDatabase } from '../helper/database.ts';
import { permutationsOf, randomFrom, seed, shuffle } from '../helper/random.ts';
import { lifeOf, story, timeOfStep } from '../helper/stripeLife.ts';
import { applyTogether, buildDoor, jobOf, statusEvent } from '../helper/webhooks.ts';
import { until } from '../rig/process.ts';

const timeAt = (second: number) => new Date(Date.UTC(2026, 10, 21, 12, 0, second)).toISOString();
const event = (status: SubscriptionStatus, second: number, customer = 'cus_1') =>
  statusEvent(status, { occurredAt: timeAt(second), eventId: `${status} ${second}`, customer });

t.test('the latest event decides; the reasons of the others say why they had no effect', async t => {
  const [active, again, failed, late] = [
    event('active', 1),
    event('active', 2),
    event('past_due', 4),
    event('unpaid', 3),
  ];
  const before = { status: 'trialing' as const, statusAt: timeAt(0) };
  const inOrder = applyEvents([active, again, failed], before);
  t.match(inOrder, { status: 'past_due', statusAt: timeAt(4) });
  t.same(
    inOrder.changes.map(({ from, to }) => [from, to]),
    [
      ['trialing', 'active'],
      ['active', 'past_due'],
    ],
  );
  t.same([...inOrder.reasons], [[again.event.id, 'The subscription was already active.']]);
  const tooLate = applyEvents([late], inOrder);
  t.match(tooLate, { status: 'past_due', changes: [] });
  t.same([...tooLate.reasons.values()], ['A later event had made the subscription past_due.']);
});

t.test('an event without an effect still counts: what is older than it comes too late', async t => {
  const [first, second, between] = [event('active', 1), event('active', 3), event('past_due', 2)];
  const known = applyEvents([second], applyEvents([first]));
  t.match(applyEvents([between], known), { status: 'active', changes: [] });
});

t.test('at the same time, canceled wins', async t => {
  for (const status of subscriptionStatuses) {
    const [one, end] = [event(status, 1), event('canceled', 1)];
    for (const pair of [
      [one, end],
      [end, one],
    ])
      t.match(applyEvents(pair.slice(1), applyEvents(pair.slice(0, 1))), { status: 'canceled' }, status);
    const { reasons } = applyEvents([one], applyEvents([end]));
    const why =
      status === 'canceled'
        ? 'The subscription was already'
        : 'An event of the same time had made the subscription';
    t.equal(reasons.get(one.event.id), `${why} canceled.`, status);
  }
});

t.test('however events are ordered, repeated and grouped, the end is the same', async t => {
  const one = fc.record({
    status: fc.constantFrom(...subscriptionStatuses),
    second: fc.integer({ min: 0, max: 4 }),
  });
  const cases = fc
    .array(one, { minLength: 1, maxLength: 8 })
    .chain(life =>
      fc.tuple(
        fc.constant(life),
        fc.shuffledSubarray([...life, ...life], { minLength: 2 * life.length }),
        fc.array(fc.integer({ min: 1, max: 4 })),
      ),
    );
  const property = fc.property(cases, ([life, shuffled, sizes]) => {
    const { status, statusAt } = applyEvents(life.map(({ status, second }) => event(status, second)));
    const left = [...shuffled];
    let end: ReturnType<typeof applyEvents> | undefined;
    while (left.length > 0) {
      const group = left.splice(0, sizes.shift() ?? 1);
      end = applyEvents(
        group.map(({ status, second }) => event(status, second)),
        end,
      );
    }
    return end?.status === status && end.statusAt === statusAt;
  });
  t.doesNotThrow(() => fc.assert(property, { seed, numRuns: 2000 }));
});

t.test('every permutation of a life, with repetitions, on two workers, ends in the same state', async t => {
  const database = await openTestDatabase(t);
  const context = inside(database);
  const life: [SubscriptionStatus, number][] = [
    ['trialing', 0],
    ['active', 1],
    ['past_due', 2],
    ['active', 3],
    ['canceled', 3],
  ];
  const orders = permutationsOf(life);
  t.equal(orders.length, 120);
  const random = randomFrom(seed);
  // A customer for each order. Both workers get all events, interleaved, in groups of several customers.
  const queues = [1, 2].map(() =>
    life.flatMap((_, step) =>
      orders.map((order, n) => event(...(order[step] as (typeof life)[number]), `cus_${n}`)),
    ),
  );
  await Promise.all(
    queues.map(async queue => {
      while (queue.length > 0) {
        const group = queue.splice(0, 1 + Math.floor(random() * 150));
        group.push(...group.slice(0, 3));
        await applyTogether(context, group);
      }
    }),
  );
  const { customer, status, statusAt, version, activatedAt } = subscriptions;
  const rows = await orm(database.writes)
    .select({ customer, status, statusAt, version, activatedAt })
    .from(subscriptions);
  t.equal(rows.length, 120);
  for (const row of rows) {
    t.match(row, { status: 'canceled', statusAt: timeAt(3) }, `seed ${seed}`);
    const entries = await orm(database.writes)
      .select({ details: auditLog.details })
      .from(auditLog)
      .where(eq(auditLog.recordId, `stripe:${row.customer}`))
      .orderBy(asc(auditLog.id));
    const story = entries.map(({ details }) => details);
    t.equal(story.length, row.version, 'each change is in the audit log');
    t.same(
      [null, ...story.map(entry => entry?.to)].slice(0, -1),
      story.map(entry => entry?.from),
      'without a gap',
    );
    t.same(
      story.map(entry => entry?.occurredAt).toSorted(),
      story.map(entry => entry?.occurredAt),
    );
    t.equal(
      row.activatedAt !== null,
      story.some(entry => entry?.to === 'active'),
    );
  }
});

t.test('a real life of a subscription ends the same in order, in reverse and shuffled', async t => {
  const { call, deliver, eventually, restart } = await buildDoor(t);
  restart();
  const random = randomFrom(seed);
  for (const [customer, order] of [
    ['in_order', <T>(events: T[]) => events],
    ['reversed', <T>(events: T[]) => events.toReversed()],
    ['shuffled', <T>(events: T[]) => shuffle([...events, ...events], random)],
  ] as const) {
    for (const event of order(lifeOf(customer))) {
      await deliver(event);
      // One after the other, so that each is processed where it arrives.
      await eventually(`event=${event.id}`, 'processed');
    }
    const { body } = await call('GET', `/api/subscriptions/${customer}`, 200);
    t.match(body, { status: 'canceled' }, `${customer}, seed ${seed}`);
    const { data } = (await call('GET', `/api/audit?record=stripe:${customer}`, 200)).body;
    const told = data.toReversed().map(({ details }: { details: Record<string, string> }) => details);
    t.equal(told.length, body.version);
    t.equal(told.at(-1).eventId, `evt_${customer}_8`);
    if (customer === 'in_order')
      t.same(
        told.map(({ from, to, occurredAt }: Record<string, string>) => [from, to, occurredAt]),
        story.map(([to, minute], n) => [story[n - 1]?.[0] ?? null, to, timeOfStep(minute)]),
      );
  }
  const { data } = (await call('GET', '/api/webhook-events?customer=reversed&limit=100', 200)).body;
  t.same(
    data.map(({ reason }: { reason: string | null }) => reason),
    [...Array(8).fill('A later event had made the subscription canceled.'), null],
    'what came too late says so, the end does not',
  );
  const shuffled = (await call('GET', '/api/webhook-events?customer=shuffled&limit=100', 200)).body.data;
  t.same(
    shuffled.map(({ deliveries }: { deliveries: number }) => deliveries),
    Array(9).fill(2),
  );
});

t.test(
  'bug: in a batch, events of several types were applied type by type and not in their order',
  async t => {
    const { call, database, deliver, jobs } = await buildDoor(t);
    await jobs.close();
    for (const event of lifeOf('cus_1').reverse()) await deliver(event);
    const { data } = (await call('GET', '/api/webhook-events', 200)).body;
    const batch = data.toReversed().map((event: Record<string, string>) => jobOf(event));
    // In development too: no event is marked to fail.
    await processEvents(inside(database), failOnRequest(handlers), batch, 'received');
    const audit = (await call('GET', '/api/audit?record=stripe:cus_1', 200)).body.data.toReversed();
    t.same(
      audit.map(({ details }: { details: Record<string, string> }) => details.to),
      story.map(([to]) => to),
    );
    const { body } = await call('GET', '/api/subscriptions/cus_1', 200);
    t.match(body, { status: 'canceled', activatedAt: String });
  },
);

const skip = backend === 'embedded' && 'it has one connection';
t.test('bug: two workers with batches of several types deadlocked', { skip }, async t => {
  const { call, database, deliver, jobs } = await buildDoor(t);
  await jobs.close();
  const paid = ['cus_1', 'cus_2'].map(customer => lifeOf(customer)[1] as { id: string });
  const updated = ['cus_1', 'cus_2'].map(customer => lifeOf(customer)[2] as { id: string });
  for (const event of [...paid, ...updated]) await deliver(event);
  const { data } = (await call('GET', '/api/webhook-events', 200)).body;
  const stored = new Map<string, Record<string, string>>(
    data.map((event: Record<string, string>) => [event.eventId, event]),
  );
  // Each worker has the payment of one customer and the update of the other.
  const batches = [0, 1].map(n =>
    [paid[n], updated[1 - n]].map(event => jobOf(stored.get(event?.id ?? '') ?? {})),
  );
  const context = inside(database);
  await applyTogether(
    context,
    ['cus_1', 'cus_2'].map(customer => event('incomplete', 0, customer)),
  );
  let updating = 0;
  const meeting = new Map(stripe);
  const update = stripe.get('customer.subscription.updated') as Handler;
  meeting.set('customer.subscription.updated', {
    ...update,
    handle: async (context, events) => {
      updating++;
      await until('both workers are here', () => updating >= 2);
      return update.handle(context, events);
    },
  });
  const both = new Map([['stripe', meeting]]);
  const done = await Promise.all(batches.map(batch => processEvents(context, both, batch, 'received')));
  t.same(
    done.map(events => events.length),
    [2, 2],
  );
  t.equal(updating, 2, 'no transaction was tried again');
});
