import { pino } from 'pino';
import t from 'tap';
import { count } from '../../drizzle/orm.ts';
import { webhookEvents } from '../../drizzle/tables/webhookEvents.ts';
import type { Queue } from '../../src/core/context.ts';
import { type Connection, orm } from '../../src/database/connection.ts';
import { handlers } from '../../src/webhooks/handlers/index.ts';
import { receiveEvent } from '../../src/webhooks/inbox.ts';
import { inside } from '../helper/access.ts';
import { build } from '../helper/app.ts';
import { backend, openTestDatabase } from '../helper/database.ts';
import { paymentEvent, signatureOf, stripeProvider } from '../helper/webhooks.ts';
import { secrets } from '../rig/sender.ts';

const ready = Promise.resolve();
const delivery = (id: string) => ({
  provider: stripeProvider,
  headers: {},
  body: Buffer.from(JSON.stringify(paymentEvent({ id }))),
});

t.test('an event whose job cannot be stored is neither stored nor acknowledged', async t => {
  const database = await openTestDatabase(t);
  const queue: Queue = { ready, add: async () => Promise.reject(new Error('no job')) };
  const { call } = await build(t, { database, queue, settings: { WEBHOOK_SECRETS: secrets } });
  const raw = JSON.stringify(paymentEvent());
  const headers = { 'stripe-signature': signatureOf(raw) };
  await call('POST', '/api/webhooks/stripe', 500, { raw, headers });
  t.equal((await call('GET', '/api/webhook-events', 200)).body.data.length, 0);
});

t.test('deliveries at the same time share a transaction, and one failure does not affect others', async t => {
  const database = await openTestDatabase(t);
  const sizes: number[] = [];
  const queue: Queue = {
    ready,
    add: async (db, jobs) => {
      sizes.push(jobs.length);
      const events = await db.rows('select event_id from webhook_events where id = $1', [
        jobs[0]?.event ?? null,
      ]);
      if (jobs.length > 1 || events[0]?.[0] === 'evt_1')
        throw Object.assign(new Error('refused'), { code: '23514' });
    },
  };
  const context = { ...inside(database), queue };
  const results = await Promise.allSettled(
    [1, 2, 3, 3].map(n => receiveEvent(context, handlers, delivery(`evt_${n}`))),
  );
  t.same(sizes, [3, 2, 1, 1, 1], 'one transaction at first, then a half at a time');
  t.same(results.map(result => (result.status === 'fulfilled' ? result.value.outcome : 'refused')).sort(), [
    'received',
    'received',
    'refused',
    'repeated',
  ]);
  const [stored] = await orm(database.writes).select({ total: count() }).from(webhookEvents);
  t.equal(stored?.total, 2);
});

t.test('while the database is away a batch is tried once, not split', async t => {
  const database = await openTestDatabase(t);
  let attempts = 0;
  const queue: Queue = {
    ready,
    add: async () => {
      attempts++;
      throw Object.assign(new Error('gone'), { code: 'CONNECTION_CLOSED' });
    },
  };
  const context = { ...inside(database), queue };
  const results = await Promise.allSettled(
    [1, 2, 3].map(n => receiveEvent(context, handlers, delivery(`evt_${n}`))),
  );
  t.ok(results.every(({ status }) => status === 'rejected'));
  t.equal(attempts, 1);
});

const skip = backend === 'embedded' && 'it has one connection';
t.test('bug: a repeated delivery was a 500 when its event was trimmed meanwhile', { skip }, async t => {
  const database = await openTestDatabase(t);
  const { writes } = database;
  const trim = () => writes.rows('delete from webhook_events where event_id = $1', ['evt_1']);
  let counts = 0;
  const watched: Connection = {
    ...writes,
    transaction: work =>
      writes.transaction(inside =>
        work({
          ...inside,
          rows: async (text, params) => {
            if (text.startsWith('insert into "webhook_event_repeats"') && counts++ === 0) await trim();
            return inside.rows(text, params);
          },
        }),
      ),
  };
  const context = { ...inside({ ...database, writes: watched }), queue: { ready, add: async () => {} } };
  // Alone: a batch would be split and tried again anyway.
  const receive = () => receiveEvent(context, handlers, delivery('evt_1'));
  const first = await receive();
  const second = await receive();
  t.equal(counts, 1, 'the count met the deletion');
  t.match(second, { outcome: 'received' }, 'it is a new event');
  t.not(second.id, first.id);
  t.match(await receive(), { id: second.id, outcome: 'repeated' });
});

t.test('bug: a repeated delivery was logged with the id of an event that does not exist', async t => {
  const lines: Record<string, unknown>[] = [];
  const log = pino({ level: 'info' }, { write: (line: string) => void lines.push(JSON.parse(line)) });
  const { call } = await build(t, { log, settings: { WEBHOOK_SECRETS: secrets } });
  const send = (id: string) => {
    const raw = JSON.stringify(paymentEvent({ id }));
    const headers = { 'stripe-signature': signatureOf(raw) };
    return call('POST', '/api/webhooks/stripe', 200, { raw, headers });
  };
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
