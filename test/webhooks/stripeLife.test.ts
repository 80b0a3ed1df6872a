import t from 'tap';
import { randomFrom, seed, shuffle } from '../helper/random.ts';
import { lifeOf, story, timeOfStep } from '../helper/stripeLife.ts';
import { buildDoor } from '../helper/webhooks.ts';

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
