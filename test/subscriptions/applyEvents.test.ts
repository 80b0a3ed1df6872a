import fc from 'fast-check';
import t from 'tap';
import { mostItems, type SubscriptionStatus, subscriptionStatuses } from '#schemas/service/subscription.ts';
import { applyEvents, type State, type StatusEvent } from '#src/subscriptions/applyEvents.ts';
import { statusEvent, timeAt } from '#test/helper/events/webhooks.ts';
import { seed } from '#test/helper/values/random.ts';

/** An event at this second, about this subscription, or about none with null. */
const event = (
  status: SubscriptionStatus,
  second: number,
  subscription: string | null = 'sub_1',
  terms?: StatusEvent['terms'],
): StatusEvent => ({
  ...statusEvent(status, { occurredAt: timeAt(second) }),
  subscription,
  terms,
});
const until = (second: number, cancelAtPeriodEnd = false) => ({
  currentPeriodEnd: timeAt(second),
  cancelAtPeriodEnd,
});
const inTurn = (...events: StatusEvent[]) =>
  events.reduce<State | undefined>((state, event) => applyEvents([event], state), undefined);

t.test('the latest event decides; the reasons of the others say why they had no effect', async t => {
  const [active, again, failed, late] = [
    event('active', 1),
    event('active', 2),
    event('past_due', 4),
    event('unpaid', 3),
  ];
  const inOrder = applyEvents([active, again, failed], inTurn(event('trialing', 0)));
  t.match(inOrder, { status: 'past_due', items: [{ id: 'sub_1', statusAt: timeAt(4) }] });
  t.same(
    inOrder.changes.map(({ from, to }) => [from, to]),
    [
      ['trialing', 'active'],
      ['active', 'past_due'],
    ],
  );
  t.same([...inOrder.reasons], [[again.event.id, 'The subscription was already active.']]);
  const tooLate = applyEvents([late], inOrder);
  t.match(tooLate, { status: 'past_due', changes: [], isMoved: false });
  t.same([...tooLate.reasons.values()], ['A later event had made the subscription past_due.']);
});

t.test('in one second the payer is not locked out, and an end stays an end', async t => {
  const order: SubscriptionStatus[] = [
    ...(['past_due', 'unpaid', 'paused', 'incomplete', 'trialing', 'active'] as const),
    ...(['incomplete_expired', 'canceled'] as const),
  ];
  for (const [n, weaker] of order.entries())
    for (const stronger of order.slice(n + 1)) {
      const [one, other] = [event(weaker, 1), event(stronger, 1)];
      t.match(inTurn(one, other), { status: stronger }, `${weaker}, ${stronger}`);
      const { status, reasons } = applyEvents([one], inTurn(other));
      t.equal(status, stronger);
      t.match(reasons.get(one.event.id), /^An event of the same time had made/);
    }
});

t.test('what was agreed is what the latest event says that says it', async t => {
  const known = inTurn(
    event('active', 1, 'sub_1', until(30)),
    event('past_due', 3),
    event('active', 2, 'sub_1', until(40, true)),
  );
  t.match(known?.items, [{ status: 'past_due', statusAt: timeAt(3), ...until(40, true) }]);
  t.match(applyEvents([event('active', 1, 'sub_1', until(50))], known).items, [until(40, true)]);
  const one = applyEvents([event('active', 4, 'sub_1', { cancelAtPeriodEnd: false })], known);
  t.match(one.items, [until(40, false)], 'the end of the period is as it was');
  t.match(inTurn(event('active', 1))?.items, [{ currentPeriodEnd: null, cancelAtPeriodEnd: null }]);
});

t.test('of many subscriptions the oldest that have ended go first, and no payer is forgotten', async t => {
  const many = Array.from({ length: mostItems }, (_, n) =>
    event(n < 3 ? 'canceled' : 'past_due', 10 + n, `sub_${n}`),
  );
  const full = applyEvents(many);
  const more = applyEvents([event('past_due', 500, 'new')], full);
  const ids = (state: State) => state.items.map(({ id }) => id);
  t.equal(more.items.length, mostItems);
  t.notOk(ids(more).includes('sub_0'));
  const late = event('canceled', 5, 'old');
  const { items, reasons, changes } = applyEvents([late], more);
  t.same([items, changes], [more.items, []]);
  t.match(reasons.get(late.event.id), /^Only 100 subscriptions/);
  const paying = [
    event('active', 1, 'paying'),
    ...Array.from({ length: 150 }, (_, n) => event('past_due', 2, `${n}`)),
  ];
  t.equal(applyEvents(paying).status, 'active');
  t.equal(inTurn(...paying.toReversed())?.status, 'active');
});

t.test(
  'however events of several subscriptions are ordered, repeated and grouped, the end is the same',
  async t => {
    const one = fc.record({
      status: fc.constantFrom(...subscriptionStatuses),
      second: fc.integer({ min: 0, max: 4 }),
      subscription: fc.constantFrom('sub_1', 'sub_2', null),
      terms: fc.constantFrom(undefined, until(30), until(30, true), { currentPeriodEnd: timeAt(60) }),
    });
    const cases = fc
      .array(one, { minLength: 1, maxLength: 9 })
      .chain(life =>
        fc.tuple(
          fc.constant(life),
          fc.shuffledSubarray([...life, ...life], { minLength: 2 * life.length }),
          fc.array(fc.integer({ min: 1, max: 4 })),
        ),
      );
    type One = typeof one extends fc.Arbitrary<infer T> ? T : never;
    const made = ({ status, second, subscription, terms }: One) => event(status, second, subscription, terms);
    const property = fc.property(cases, ([life, shuffled, sizes]) => {
      const { status, items } = applyEvents(life.map(made));
      const left = [...shuffled];
      let end: State | undefined;
      while (left.length > 0) end = applyEvents(left.splice(0, sizes.shift() ?? 1).map(made), end);
      const named = items.filter(({ id }) => id !== null);
      const best = subscriptionStatuses.find(word =>
        (named.length > 0 ? named : items).some(item => item.status === word),
      );
      return status === best && JSON.stringify([end?.status, end?.items]) === JSON.stringify([status, items]);
    });
    t.doesNotThrow(() => fc.assert(property, { seed, numRuns: 2000 }));
  },
);
