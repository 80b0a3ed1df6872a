import { setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import t from 'tap';
import { eq } from '../../drizzle/orm.ts';
import { webhookEvents } from '../../drizzle/tables/webhookEvents.ts';
import { orm } from '../../src/database/connection.ts';
import { claimEvent } from '../../src/webhooks/processing.ts';
import { inside } from '../helper/access.ts';
import { buildDoor, countsOf, jobOf, paymentEvent } from '../helper/webhooks.ts';

t.test(
  'a handler that throws nine times and then succeeds takes effect once',
  { timeout: 90_000 },
  async t => {
    let calls = 0;
    const handle = async () => {
      calls++;
      if (calls < 10) throw new Error(`not yet\0, ${calls}`);
    };
    const { call, deliver, eventually } = await buildDoor(t, { handle });
    await deliver(paymentEvent());
    const event = await eventually('customer=cus_1', 'processed');
    t.match(event, { attempts: 10, lastError: null });
    t.equal(calls, 10);
    const { body } = await call('GET', `/api/webhook-events/${event.id}`, 200);
    t.same(
      body.failures.map(({ attempt, error }: { attempt: number; error: string }) => [attempt, error]),
      Array.from({ length: 9 }, (_, i) => [i + 1, `not yet\ufffd, ${i + 1}`]),
    );
  },
);

t.test('an event that always fails becomes dead, is counted, and can be replayed after a fix', async t => {
  let broken = true;
  const handle = async () => {
    if (broken) throw new Error('not fixed yet');
  };
  const { call, deliver, eventually, metrics } = await buildDoor(t, {
    handle,
    settings: { WEBHOOK_RETRIES: 1 },
  });
  await deliver(paymentEvent());
  const dead = await eventually('status=dead', 'dead');
  t.match(dead, { attempts: 2, lastError: 'not fixed yet', processedAt: null });
  t.equal((await countsOf(metrics, 'webhook_attempts_failed_total')).get('{outcome="dead"}'), 1);
  // Sent again by the provider, it is acknowledged but not retried.
  await deliver(paymentEvent());
  t.equal((await call('GET', `/api/webhook-events/${dead.id}`, 200)).body.status, 'dead');

  broken = false;
  const replayed = await call('POST', `/api/webhook-events/${dead.id}/replay`, 200);
  t.match(replayed.body, { status: 'received', attempts: 0, replays: 1, failures: [] });
  t.match(await eventually('customer=cus_1', 'processed'), { attempts: 1 });
  const refused = await call('POST', `/api/webhook-events/${dead.id}/replay`, 409);
  t.match(refused.body.error.details, { code: 'not_replayable', status: 'processed' });
  await call('POST', '/api/webhook-events/nothing/replay', 404);
});

t.test('a replay ends the retries of the previous round', async t => {
  const handle = async () => {
    throw new Error('always');
  };
  const retries = { delay: 3600, delayMax: 3600 };
  const { call, database, deliver, eventually } = await buildDoor(t, { handle, retries });
  await deliver(paymentEvent());
  const event = await eventually('status=failed', 'failed');
  await call('POST', `/api/webhook-events/${event.id}/replay`, 200);
  await eventually('status=failed', 'failed');
  const context = inside(database);
  t.equal(
    await claimEvent(context, jobOf(event)),
    undefined,
    'the job of the previous round has nothing to do',
  );
  t.match(await claimEvent(context, jobOf(event, 1)), { id: event.id, attempts: 2 });
});

t.test('events are replayed by filter, and the answer counts them', async t => {
  let broken = true;
  const handle = async () => {
    if (broken) throw new Error('not fixed yet');
  };
  const { call, deliver, eventually } = await buildDoor(t, { handle, settings: { WEBHOOK_RETRIES: 0 } });
  for (let i = 0; i < 6; i++)
    await deliver(paymentEvent({ id: `evt_${i}`, customer: i < 4 ? 'cus_a' : 'cus_b' }));
  await deliver({ id: 'evt_other', type: 'charge.captured' });
  const dead = async () => (await call('GET', '/api/webhook-events?status=dead', 200)).body.data.length;
  // The pause lets timers run: back-to-back calls to the embedded database starve them.
  for (const end = Date.now() + 60_000; (await dead()) < 6 && Date.now() < end; ) await sleep(25);
  broken = false;
  t.match((await call('GET', '/api/webhook-backlog', 200)).body, { counts: { received: 0, dead: 6 } });
  const path = '/api/webhook-events/replay';
  const counted = await call('POST', path, 200, { body: { customer: 'cus_a', dryRun: true } });
  t.same(counted.body, { replayed: 0, remaining: 4 });
  t.equal(await dead(), 6, 'a dry run only counts');
  t.same((await call('POST', path, 200, { body: { customer: 'cus_a', status: 'failed' } })).body, {
    replayed: 0,
    remaining: 0,
  });
  t.same((await call('POST', path, 200, { body: { customer: 'cus_a' } })).body, {
    replayed: 4,
    remaining: 0,
  });
  t.same((await call('POST', path, 200, { body: {} })).body, { replayed: 2, remaining: 0 });
  await eventually('customer=cus_b', 'processed');
  t.same((await call('POST', path, 200, { body: { status: 'ignored' } })).body, {
    replayed: 1,
    remaining: 0,
  });
  await eventually('type=charge.captured', 'ignored');
  await call('POST', path, 400, { body: { status: 'processed' } });
  await call('POST', path, 400, { body: { staus: 'dead' } });
});

t.test("every log line about an event has the provider's id", async t => {
  const lines: Record<string, unknown>[] = [];
  const log = pino({ level: 'info' }, { write: (line: string) => void lines.push(JSON.parse(line)) });
  const handle = () => Promise.reject(new Error('never'));
  const { deliver, eventually } = await buildDoor(t, { handle, log, settings: { WEBHOOK_RETRIES: 1 } });
  await deliver(paymentEvent());
  await eventually('event=evt_1', 'dead');
  const about = lines.filter(({ msg }) => /webhook|event/.test(String(msg)));
  t.same(
    about.map(({ msg }) => String(msg).slice(0, 30)),
    ['webhook received', 'A webhook event failed and wil', 'A webhook event failed for the'],
  );
  for (const line of about)
    t.match(line, {
      provider: 'stripe',
      eventId: 'evt_1',
      type: 'payment_intent.succeeded',
      customer: 'cus_1',
    });
});

t.test('one failing event does not fail the others of its batch', async t => {
  const handle = async (_context: unknown, { customer }: { customer: string | null }) => {
    if (customer === 'cus_3') throw new Error('only this one');
  };
  const { call, deliver, eventually } = await buildDoor(t, { handle, settings: { WEBHOOK_RETRIES: 0 } });
  await Promise.all(
    Array.from({ length: 8 }, (_, i) => deliver(paymentEvent({ id: `evt_${i}`, customer: `cus_${i}` }))),
  );
  for (let i = 0; i < 8; i++) await eventually(`customer=cus_${i}`, i === 3 ? 'dead' : 'processed');
  t.equal((await call('GET', '/api/webhook-events?status=processed', 200)).body.data.length, 7);
});

t.test('an event that ends the process too often becomes dead, the others of its batch do not', async t => {
  const { database, deliver, eventually, jobs, restart } = await buildDoor(t);
  await jobs.close();
  for (const n of [1, 2]) await deliver(paymentEvent({ id: `evt_${n}`, customer: `cus_${n}` }));
  await orm(database.writes)
    .update(webhookEvents)
    .set({ status: 'processing', attempts: 11 })
    .where(eq(webhookEvents.eventId, 'evt_1'));
  restart();
  t.match(await eventually('customer=cus_1', 'dead'), { lastError: 'the process ended during the attempt' });
  await eventually('customer=cus_2', 'processed');
});
