import t from 'tap';
import { eq } from '../../drizzle/orm.ts';
import { auditLog } from '../../drizzle/tables/auditLog.ts';
import { subscriptions } from '../../drizzle/tables/subscriptions.ts';
import { newId } from '../../src/core/ids.ts';
import { orm } from '../../src/database/connection.ts';
import { inTransaction } from '../../src/database/transaction.ts';
import { activateSubscriptions } from '../../src/services/subscriptions.ts';
import { trimEvents } from '../../src/webhooks/events.ts';
import { inside } from '../helper/access.ts';
import { openTestDatabase } from '../helper/database.ts';
import { buildDoor, paymentEvent } from '../helper/webhooks.ts';

t.test('an effect is rolled back unless the event is marked as processed', async t => {
  let calls = 0;
  const { call, deliver, eventually } = await buildDoor(t, {
    handle: async (context, event) => {
      await activateSubscriptions(context, [{ ...event, customer: `${event.customer}-${calls}` }]);
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
  const { call, database } = await buildDoor(t, { now: () => clock });
  const context = inside(database, () => clock);
  const payment = { id: newId(0), eventId: 'evt_1', customer: 'cus_1', provider: 'stripe' };
  const read = async () => (await call('GET', '/api/subscriptions/cus_1', 200)).body;
  await activateSubscriptions(context, [payment]);
  const first = await read();
  t.match(first, { status: 'active', activatedAt: '2027-01-01T00:00:00.000Z' });
  clock = new Date('2027-02-01T00:00:00Z');
  await activateSubscriptions(context, [payment]);
  t.same(await read(), first, 'not even updatedAt changed');
  await orm(database.writes)
    .update(subscriptions)
    .set({ status: 'past_due' })
    .where(eq(subscriptions.customer, 'cus_1'));
  await activateSubscriptions(context, [payment]);
  t.same(await read(), { ...first, version: 2, updatedAt: '2027-02-01T00:00:00.000Z' });
});

t.test('every change of status is in the audit log with its event (bug: none was)', async t => {
  const { call, database, deliver, eventually } = await buildDoor(t);
  const pay = async (id: string) => {
    await deliver(paymentEvent({ id }));
    return eventually('limit=1', 'processed');
  };
  const first = await pay('evt_1');
  await pay('evt_2');
  await orm(database.writes).update(subscriptions).set({ status: 'past_due' });
  const third = await pay('evt_3');
  const { data } = (await call('GET', '/api/audit?record=stripe:cus_1', 200)).body;
  const changes = data.map(({ action, details }: Record<string, unknown>) => [action, details]);
  t.same(
    new Set(changes),
    new Set([
      ['subscription.change', { event: first.id, eventId: 'evt_1', from: null, to: 'active' }],
      ['subscription.change', { event: third.id, eventId: 'evt_3', from: 'past_due', to: 'active' }],
    ]),
    'the second payment changed nothing',
  );
  t.match(data[0], { actorKind: 'system', actorName: 'jobs', door: 'job' });
});

t.test('parallel payments of a customer, in a batch or by several workers, are one change', async t => {
  const database = await openTestDatabase(t);
  const context = inside(database);
  const payments = ['a', 'b', 'a', 'b', 'a'].map((customer, i) => ({
    ...{ id: newId(Date.now()), eventId: `evt_${i}`, provider: 'stripe', customer },
  }));
  const pay = () => inTransaction(context, within => activateSubscriptions(within, payments));
  await Promise.all(Array.from({ length: 6 }, pay));
  await orm(database.writes).update(subscriptions).set({ status: 'unpaid' });
  await Promise.all(Array.from({ length: 6 }, pay));
  const entries = await orm(database.writes).select().from(auditLog).orderBy(auditLog.id);
  t.same(
    entries.map(({ recordId, details }) => [recordId, details?.eventId, details?.from]).sort(),
    [
      ['stripe:a', 'evt_0', 'unpaid'],
      ['stripe:a', 'evt_0', null],
      ['stripe:b', 'evt_1', 'unpaid'],
      ['stripe:b', 'evt_1', null],
    ].sort(),
  );
});

t.test('old events are trimmed in batches, dead ones never', async t => {
  // Later than in any other test: ids never go back within a process.
  let clock = new Date('2096-01-01T00:00:00Z');
  const handle = async (_context: unknown, { customer }: { customer: string | null }) => {
    if (customer === 'cus_dead') throw new Error('never');
  };
  const settings = { WEBHOOK_RETRIES: 0 };
  const service = await buildDoor(t, { handle, settings: { ...settings }, now: () => clock });
  const at = () => Math.floor(clock.getTime() / 1000);
  await service.deliver(paymentEvent({ id: 'old', customer: 'cus_old' }), 200, {}, at());
  await service.deliver({ id: 'old_ignored' }, 200, {}, at());
  await service.deliver(paymentEvent({ id: 'dead', customer: 'cus_dead' }), 200, {}, at());
  await service.eventually('customer=cus_old', 'processed');
  await service.eventually('customer=cus_dead', 'dead');
  clock = new Date('2096-02-01T00:00:00Z');
  await service.deliver({ id: 'new' }, 200, {}, at());
  const context = inside(service.database, () => clock);
  t.equal(await trimEvents(context, new Date('2096-01-15T00:00:00Z')), 2);
  t.equal(await trimEvents(context, new Date('2096-01-15T00:00:00Z')), 0);
  const { body } = await service.call('GET', '/api/webhook-events', 200);
  t.same(
    body.data.map(({ eventId }: { eventId: string }) => eventId),
    ['new', 'dead'],
  );
});

t.test('an event is picked up at once', async t => {
  const { deliver, eventually } = await buildDoor(t);
  const waits: number[] = [];
  for (let i = 0; i < 8; i++) {
    // Out of step with the polling interval.
    await new Promise(resolve => setTimeout(resolve, 137));
    const { createdAt } = await deliver(paymentEvent({ id: `evt_${i}`, customer: `cus_${i}` })).then(() =>
      eventually(`customer=cus_${i}`, 'processed'),
    );
    const { processedAt } = await eventually(`customer=cus_${i}`, 'processed');
    waits.push(Date.parse(processedAt) - Date.parse(createdAt));
  }
  waits.sort((a, b) => a - b);
  t.ok((waits[4] ?? 1000) < 200, `in ${waits} ms; polling would take 500 on average`);
});

t.test('without a worker events are still accepted, and wait for the next start', async t => {
  const { call, deliver, jobs } = await buildDoor(t);
  await jobs.close();
  await deliver(paymentEvent());
  t.equal((await call('GET', '/api/webhook-events?status=received', 200)).body.data.length, 1);
});
