import t from 'tap';
import { newId } from '../../src/core/ids.ts';
import { buildDoor, jobOf, paymentEvent } from '../helper/webhooks.ts';
import { workByHand } from '../helper/workByHand.ts';

// On a distributed database, a node may show an event a moment after the coordinator has shown its job.
t.test('a job whose event, or its next round, is not there yet is tried again', async t => {
  const { call, database, deliver, jobs, metrics } = await buildDoor(t);
  await jobs.close();
  const work = workByHand(t, { database, metrics }, async () => {});
  const early = 'its event is not there yet';
  const ahead = { ...jobOf({ id: newId(Date.now()), eventId: 'evt_1' }), again: false };
  t.same(await work([ahead]), [early]);
  await deliver(paymentEvent());
  const [received] = (await call('GET', '/api/webhook-events', 200)).body.data;
  t.same(await work([{ ...jobOf(received, 1), again: false }]), [early]);
  t.same(await work([{ ...jobOf(received), again: true }]), [undefined]);
  t.match((await call('GET', '/api/webhook-events', 200)).body.data, [{ status: 'processed' }]);
});

t.test('a job of a release that wrote no fingerprints finds its event', async t => {
  const { call, database, deliver, jobs, metrics } = await buildDoor(t);
  await jobs.close();
  for (const n of [1, 2]) await deliver(paymentEvent({ id: `evt_${n}`, customer: `cus_${n}` }));
  const { data } = (await call('GET', '/api/webhook-events', 200)).body;
  const due = data.map(({ id: event }: { id: string }) => ({ event, round: 0, again: false }));
  const work = workByHand(t, { database, metrics }, async () => {});
  t.same(await work([...due, { ...jobOf(data[0]), again: false }]), [undefined, undefined, undefined]);
  const after = (await call('GET', '/api/webhook-events', 200)).body.data;
  t.match(after, [{ status: 'processed' }, { status: 'processed' }]);
});
