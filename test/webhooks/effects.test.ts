// runs: in its own process
import t from 'tap';
import type { SubscriptionStatus } from '#schemas/service/subscription.ts';
import { changeSubscriptions } from '#src/subscriptions/changeSubscriptions.ts';
import { inside } from '#test/helper/access.ts';
import { buildReceiver, paymentEvent, statusEvent } from '#test/helper/events/webhooks.ts';

t.test('an effect is rolled back unless the event is marked as processed', async t => {
  let calls = 0;
  const { call, deliver, eventually } = await buildReceiver(t, {
    retryDelay: 0,
    handle: async (context, event) => {
      const customer = `${event.customer}-${calls}`;
      await changeSubscriptions(context, [{ event: { ...event, customer }, status: 'active' }]);
      if (++calls === 1) throw new Error('after the effect');
    },
  });
  await deliver(paymentEvent());
  await eventually('customer=cus_1', 'processed');
  const { data } = (await call('GET', '/api/subscriptions', 200)).body;
  t.equal(data.length, 1);
  t.match(data, [{ customer: 'cus_1-1' }]);
});

// Bug: each delivery made the workers look for effects, which cost more than taking the event.
t.test('a delivery calls the workers for events, and not for effects', async t => {
  const { calls, deliver, eventually } = await buildReceiver(t);
  const called: string[] = [];
  for (const work of ['events', 'effects'] as const) calls[work].onCall(() => called.push(work));
  await deliver(paymentEvent());
  await eventually('customer=cus_1', 'processed');
  t.same(called, ['events']);
});

t.test('activation sets any status to active and keeps the first activation time', async t => {
  let clock = new Date('2027-01-01T00:00:00Z');
  const { call, database } = await buildReceiver(t, { now: () => clock });
  const context = inside(database, () => clock);
  const apply = (status: SubscriptionStatus, occurredAt: string) =>
    changeSubscriptions(context, [statusEvent(status, { occurredAt })]);
  const read = async () => (await call('GET', '/api/subscriptions/cus_1', 200)).body;
  await apply('active', '2026-12-31T23:59:58.000Z');
  const first = await read();
  t.match(first, { status: 'active', activatedAt: '2027-01-01T00:00:00.000Z' });
  clock = new Date('2027-02-01T00:00:00Z');
  await apply('active', '2026-12-31T23:59:58.000Z');
  await apply('active', '2026-12-31T23:59:59.000Z');
  await apply('past_due', '2026-12-31T23:59:58.500Z');
  const later = { ...first.items[0], statusAt: '2026-12-31T23:59:59.000Z' };
  t.same(await read(), { ...first, items: [later] }, 'only the time, and it made the third one too old');
  await apply('past_due', '2027-01-30T00:00:00.000Z');
  await apply('active', '2027-01-31T00:00:00.000Z');
  t.same(await read(), {
    ...first,
    version: 3,
    updatedAt: '2027-02-01T00:00:00.001Z',
    items: [{ ...later, statusAt: '2027-01-31T00:00:00.000Z' }],
  });
});

t.test('an event is picked up at once', async t => {
  const { deliver, eventually } = await buildReceiver(t);
  const waits: number[] = [];
  for (const i of [0, 1, 2, 3, 4]) {
    // Gets out of step with the polling interval.
    await new Promise(resolve => setTimeout(resolve, 137));
    await deliver(paymentEvent({ id: `evt_${i}`, customer: `cus_${i}` }));
    const { createdAt, processedAt } = await eventually(`customer=cus_${i}`, 'processed');
    waits.push(Date.parse(processedAt) - Date.parse(createdAt));
  }
  const [, , median = 1000] = waits.toSorted((a, b) => a - b);
  t.ok(median < 200, `in ${waits} ms; polling would take 500 on average`);
});
