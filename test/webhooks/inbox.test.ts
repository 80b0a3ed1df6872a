import { setImmediate as turn } from 'node:timers/promises';
import { pino } from 'pino';
import t from 'tap';
import { webhookEvents } from '#drizzle/tables/service/webhookEvents.ts';
import type { Connection } from '#src/database/connection.ts';
import type { Database } from '#src/database/database.ts';
import { inside } from '#test/helper/access.ts';
import { countRows, openTestDatabase } from '#test/helper/database.ts';
import { buildReceiver, paymentEvent, receive } from '#test/helper/events/webhooks.ts';
import { until } from '#test/rig/process.ts';

t.test('a repeated event changes nothing', async t => {
  const { call, deliver, eventually } = await buildReceiver(t);
  await deliver(paymentEvent());
  await eventually('type=payment_intent.succeeded', 'processed');
  const before = await call('GET', '/api/subscriptions', 200);
  const events = await call('GET', '/api/webhook-events', 200);
  await deliver(paymentEvent());
  await deliver({ ...paymentEvent(), pending_webhooks: 0 });
  await deliver(paymentEvent({ id: 'evt_2' }));
  await eventually('limit=1', 'processed');
  t.same((await call('GET', '/api/subscriptions', 200)).body, before.body);
  const after = (await call('GET', '/api/webhook-events', 200)).body;
  t.equal(after.data.length, 2, 'a repeated event is stored once, another event of the customer separately');
  t.same(after.data[1], { ...events.body.data[0], deliveries: 3 }, 'only counted');
});

t.test('an event that cannot be added to the queue is neither stored nor acknowledged', async t => {
  const { call, database, deliver, jobs } = await buildReceiver(t);
  await jobs.close();
  await database.writes.rows('alter table webhook_queue rename to elsewhere', []);
  await deliver(paymentEvent(), 500);
  t.equal((await call('GET', '/api/webhook-events', 200)).body.data.length, 0);
});

/** A context, how many events each of its statements stores, and the gates for which the first statements wait. */
function watchInserts({ writes }: Database, held = 0) {
  const sizes: number[] = [];
  const gates = Array.from({ length: held }, () => Promise.withResolvers<void>());
  const watched: Connection = {
    ...writes,
    rows: async (text, params) => {
      if (text.startsWith('with "stored"')) {
        const gate = gates[sizes.length];
        sizes.push(JSON.parse(String(params[0])).length);
        await gate?.promise;
      }
      return writes.rows(text, params);
    },
  };
  return { context: inside({ writes: watched }), sizes, gates };
}

t.test('deliveries at the same time share a statement, and one failure does not affect others', async t => {
  const database = await openTestDatabase(t);
  const refuseFirst = `alter table webhook_events add constraint first check (event_id <> 'evt_1')`;
  await database.writes.rows(refuseFirst, []);
  const { context, sizes } = watchInserts(database);
  const results = await Promise.allSettled(
    [1, 2, 3, 3].map(n => receive(context, paymentEvent({ id: `evt_${n}` }))),
  );
  t.same(sizes, [3, 1, 1, 1, 1], 'one statement at first, then one for each delivery');
  t.same(results.map(result => (result.status === 'fulfilled' ? result.value?.outcome : 'refused')).sort(), [
    'received',
    'received',
    'refused',
    'repeated',
  ]);
  t.equal(await countRows(database.writes, webhookEvents), 2);
});

t.test('large deliveries share a statement with few others, or with none', async t => {
  const { context, sizes } = watchInserts(await openTestDatabase(t));
  const sent = [1, 1, 5, 5, 5].map((mebibytes, n) => {
    const pad = 'x'.repeat(mebibytes * 1024 * 1024);
    return receive(context, { ...paymentEvent({ id: `evt_${n}` }), pad });
  });
  t.same(new Set((await Promise.all(sent)).map(({ outcome }) => outcome)), new Set(['received']));
  t.same(sizes, [3, 1, 1]);
});

t.test('a statement that waits does not hold up later deliveries for long', async t => {
  const { context, sizes, gates } = watchInserts(await openTestDatabase(t), 2);
  const send = (id: string) => receive(context, paymentEvent({ id }));
  const first = send('evt_1');
  await until('it is sent', () => sizes.length === 1);
  const later = ['evt_2', 'evt_3'].map(send);
  await turn();
  t.same(sizes, [1], 'those that come meanwhile wait for it');
  await until('they are sent without it', () => sizes.length === 2);
  t.same(sizes, [1, 2]);
  for (const { resolve } of gates.toReversed()) resolve();
  t.match(await Promise.all([first, ...later]), Array(3).fill({ outcome: 'received' }));
});

t.test('without an answer every delivery of a statement fails, and none is tried again', async t => {
  const { context, sizes, gates } = watchInserts(await openTestDatabase(t), 1);
  const gone = Object.assign(new Error('gone'), { code: 'CONNECTION_CLOSED' });
  const sent = Promise.allSettled([1, 2, 3].map(n => receive(context, paymentEvent({ id: `evt_${n}` }))));
  await until('they are sent', () => sizes.length === 1);
  gates[0]?.reject(gone);
  t.same(new Set((await sent).map(({ status }) => status)), new Set(['rejected']));
  t.same(sizes, [3]);
});

t.test('bug: a repeated delivery was logged with the id of an event that does not exist', async t => {
  const lines: Record<string, unknown>[] = [];
  const log = pino({ level: 'info' }, { write: (line: string) => void lines.push(JSON.parse(line)) });
  const { call, deliver } = await buildReceiver(t, { log });
  const send = (id: string) => deliver(paymentEvent({ id }));
  await send('evt_1');
  // Two new events and two repeated ones in one transaction.
  await Promise.all(['evt_1', 'evt_2', 'evt_2', 'evt_3'].map(send));
  await send('evt_2');
  const { data } = (await call('GET', '/api/webhook-events', 200)).body;
  t.equal(data.length, 3);
  const received = lines.filter(({ msg }) => msg === 'webhook received');
  t.same(received.map(({ outcome }) => outcome).sort(), [
    ...Array(3).fill('received'),
    ...Array(3).fill('repeated'),
  ]);
  const stored = new Map(data.map(({ id, eventId }: Record<string, string>) => [id, eventId]));
  for (const { event, eventId } of received) t.equal(stored.get(event), eventId);
});
