import t from 'tap';
import { failOnRequest } from '../../src/webhooks/handlers/failing.ts';
import type { Handler } from '../../src/webhooks/handlers/handler.ts';
import { handlers } from '../../src/webhooks/handlers/index.ts';
import { stripe } from '../../src/webhooks/handlers/stripe.ts';
import { processEvents } from '../../src/webhooks/processing.ts';
import { inside } from '../helper/access.ts';
import { backend } from '../helper/database.ts';
import { lifeOf, story, timeOfStep } from '../helper/events/stripeLife.ts';
import { randomFrom, seed, shuffle } from '../helper/values/random.ts';
import { applyTogether, buildDoor, eventAt, jobOf } from '../helper/webhooks.ts';
import { until } from '../rig/process.ts';

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
    ['cus_1', 'cus_2'].map(customer => eventAt('incomplete', 0, customer)),
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
