import fc from 'fast-check';
import t from 'tap';
import { subscriptionStatuses } from '../../../schemas/subscription.ts';
import { applyEvents } from '../../../src/services/subscriptions/applyEvents.ts';
import { seed } from '../../helper/values/random.ts';
import { eventAt as event, timeAt } from '../../helper/webhooks.ts';

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
