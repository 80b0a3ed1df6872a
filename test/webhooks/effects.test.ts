import t from 'tap';
import type { SubscriptionStatus } from '../../schemas/subscription.ts';
import { changeSubscriptions } from '../../src/services/subscriptions/changeSubscriptions.ts';
import { inside } from '../helper/access.ts';
import { buildReceiver, paymentEvent, statusEvent } from '../helper/webhooks.ts';

t.test('an effect is rolled back unless the event is marked as processed', async t => {
  let calls = 0;
  const { call, deliver, eventually } = await buildReceiver(t, {
    retries: { delay: 0, delayMax: 0 },
    handle: async (context, event) => {
      const customer = `${event.customer}-${calls}`;
      await changeSubscriptions(context, [{ event: { ...event, customer }, status: 'active' }]);
      if (++calls === 1) throw new Error('after the effect');
    },
  });
  await deliver(paymentEvent());
  await eventually('customer=cus_1', 'processed');
  const { body } = await call('GET', '/api/subscriptions', 200);
  t.same(
    body.data.map(({ customer }: { customer: string }) => customer),
    ['cus_1-1'],
  );
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

t.test('every change of status is in the audit log with its event (bug: none was)', async t => {
  const { call, deliver, eventually } = await buildReceiver(t);
  const pay = async (id: string, created: number) => {
    await deliver({ ...paymentEvent({ id }), created });
    return eventually('limit=1', 'processed');
  };
  const first = await pay('evt_1', 1_763_700_000);
  await pay('evt_2', 1_763_700_001);
  await deliver({
    id: 'evt_3',
    type: 'invoice.payment_failed',
    created: 1_763_700_002,
    data: { object: { customer: 'cus_1' } },
  });
  const failed = await eventually('limit=1', 'processed');
  const last = await pay('evt_4', 1_763_700_003);
  const { data } = (await call('GET', '/api/audit?record=stripe:cus_1', 200)).body;
  const unsaid = { currentPeriodEnd: null, cancelAtPeriodEnd: null };
  t.same(
    data.map(({ action, details }: Record<string, unknown>) => [action, details]),
    [
      [last, 'past_due', 'active', '2025-11-21T04:40:03.000Z'],
      [failed, 'active', 'past_due', '2025-11-21T04:40:02.000Z'],
      [first, null, 'active', '2025-11-21T04:40:00.000Z'],
    ].map(([{ id: event, eventId }, from, to, occurredAt]) => [
      'subscription.change',
      {
        event,
        eventId,
        occurredAt,
        from,
        to,
        subscription: { ...unsaid, id: null, status: to, statusAt: occurredAt },
      },
    ]),
    'the second payment changed nothing',
  );
  t.match(data[0], { actorKind: 'system', actorName: 'jobs', transport: 'job' });
});

t.test('an event is picked up at once', async t => {
  const { deliver, eventually } = await buildReceiver(t);
  const waits: number[] = [];
  for (const i of [0, 1, 2, 3, 4]) {
    // Out of step with the polling interval.
    await new Promise(resolve => setTimeout(resolve, 137));
    await deliver(paymentEvent({ id: `evt_${i}`, customer: `cus_${i}` }));
    const { createdAt, processedAt } = await eventually(`customer=cus_${i}`, 'processed');
    waits.push(Date.parse(processedAt) - Date.parse(createdAt));
  }
  const [, , median = 1000] = waits.toSorted((a, b) => a - b);
  t.ok(median < 200, `in ${waits} ms; polling would take 500 on average`);
});

t.test('without a worker events are still accepted, and wait for the next start', async t => {
  const { call, deliver, jobs } = await buildReceiver(t);
  await jobs.close();
  await deliver(paymentEvent());
  t.equal((await call('GET', '/api/webhook-events?status=received', 200)).body.data.length, 1);
});
