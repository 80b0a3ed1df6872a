import t, { type Test } from 'tap';
import { auditLog } from '../../drizzle/tables/auditLog.ts';
import { webhookEvents } from '../../drizzle/tables/webhookEvents.ts';
import type { Context } from '../../src/core/context.ts';
import { orm } from '../../src/database/connection.ts';
import { recordWrites } from '../../src/services/audit.ts';
import { handlers } from '../../src/webhooks/handlers/index.ts';
import { claimEvent, failEvent, processEvents } from '../../src/webhooks/processing.ts';
import type { DueJob } from '../../src/webhooks/queue.ts';
import { inside } from '../helper/access.ts';
import { backend, countRows } from '../helper/database.ts';
import { buildDoor, handling, jobOf, paymentEvent } from '../helper/webhooks.ts';
import { workByHand } from '../helper/workByHand.ts';
import { until } from '../rig/process.ts';

const retries = 10;
// Transactions do not overlap on the embedded database.
const test = backend === 'postgres' ? t.test.bind(t) : t.skip.bind(t);

/** An event claimed by two workers: the job passed to the second because the first seemed dead. */
async function claimTwice(t: Test, before = 0) {
  const { call, database, deliver, jobs } = await buildDoor(t);
  await jobs.close();
  await deliver(paymentEvent());
  const { body } = await call('GET', '/api/webhook-events', 200);
  const job = jobOf(body.data[0]);
  const context = inside(database);
  const claimed = async () => {
    const event = await claimEvent(context, job);
    if (!event) throw new Error('The event cannot be claimed.');
    return event;
  };
  for (let i = 0; i < before; i++) await claimed();
  const [stale, fresh] = [await claimed(), await claimed()];
  const stored = async () => (await call('GET', `/api/webhook-events/${job.event}`, 200)).body;
  return { call, context, job, stale, fresh, stored };
}

// Otherwise the second worker would find the event `failed` and end its job: nothing would retry the event.
t.test('a failure of a stale worker does not take the event from its current worker', async t => {
  const { context, job, stale, fresh, stored } = await claimTwice(t);
  t.equal(await failEvent(context, stale, new Error('its connection was cut'), retries), 'failed');
  t.match(
    await stored(),
    { status: 'processing', attempts: 2, failures: [] },
    'the later attempt is still running',
  );
  const done = await processEvents(context, handlers, [job], 'processing');
  t.match(done, [{ id: fresh.id }]);
  t.match(await stored(), { status: 'processed' });
});

t.test('a failure of the current worker does not keep the stale one from succeeding', async t => {
  const { context, job, stale, fresh, stored } = await claimTwice(t);
  t.equal(await failEvent(context, fresh, new Error('its connection was cut'), retries), 'failed');
  t.match(await processEvents(context, handlers, [job], 'processing'), [{ id: stale.id }]);
  t.match(await stored(), { status: 'processed', lastError: null });
});

t.test('a stale failure on the last attempt leaves the event to the attempt that still runs', async t => {
  const { context, stale, fresh, stored } = await claimTwice(t, retries);
  t.equal(await failEvent(context, stale, new Error('its connection was cut'), retries), 'failed');
  t.match(await stored(), { status: 'processing' });
  t.equal(await failEvent(context, fresh, new Error('always'), retries), 'dead');
  t.match(await stored(), { status: 'dead', lastError: 'always' });
});

t.test('of two workers that both succeed, only one takes effect', async t => {
  const { context, job, stored } = await claimTwice(t);
  const done = await Promise.all(
    [job, job].map(event => processEvents(context, handlers, [event], 'processing')),
  );
  t.equal(done.flat().length, 1);
  t.match(await stored(), { status: 'processed' });
});

test('of two workers that are in the same event at once, one rolls back its effect', async t => {
  const { context, job, stored } = await claimTwice(t);
  let inside = 0;
  const handle = async (within: Context) => {
    await recordWrites(within, 'subscription.change', [{ recordId: 'effect' }]);
    inside++;
    await until('both are inside', () => inside === 2);
    return {};
  };
  const both = handling('payment_intent.succeeded', { effect: '', needsCustomer: true, handle });
  const done = await Promise.all([job, job].map(job => processEvents(context, both, [job], 'processing')));
  t.equal(done.flat().length, 1);
  t.match(await stored(), { status: 'processed' });
  t.equal(await countRows(context.db, auditLog), 1);
});

test('the result of a worker is discarded when its event failed elsewhere and was replayed meanwhile', async t => {
  const { call, context, job, fresh, stored } = await claimTwice(t);
  const handle = async (within: Context) => {
    await recordWrites(within, 'subscription.change', [{ recordId: 'effect' }]);
    await failEvent(context, fresh, new Error('its connection was cut'), retries);
    await call('POST', `/api/webhook-events/${job.event}/replay`, 200);
    return {};
  };
  const slow = handling('payment_intent.succeeded', { effect: '', needsCustomer: true, handle });
  t.same(await processEvents(context, slow, [job], 'processing'), [], 'it was overtaken');
  t.match(await stored(), { status: 'received', replays: 1, attempts: 0 });
  t.same((await call('GET', '/api/audit?record=effect', 200)).body.data, [], 'the effect is rolled back');
  t.match(await processEvents(context, handlers, [{ ...job, round: 1 }], 'received'), [{ id: fresh.id }]);
});

// Bug: a whole batch was counted at once, so an event that kept ending the process made its neighbours dead too.
t.test('an attempt counts when its event is tried, not when its batch starts', async t => {
  const { call, database, deliver, jobs, metrics } = await buildDoor(t);
  await jobs.close();
  for (const n of [1, 2, 3]) await deliver(paymentEvent({ id: `evt_${n}`, customer: `cus_${n}` }));
  const attempts = async (db = database.writes) =>
    (await orm(db).select({ attempts: webhookEvents.attempts }).from(webhookEvents))
      .map(row => row.attempts)
      .sort();
  const seen: number[][] = [];
  const handle = async ({ db }: Context) => void seen.push(await attempts(db));

  const work = workByHand(t, { database, metrics }, handle);
  const { body } = await call('GET', '/api/webhook-events', 200);
  const due = body.data.map((event: Record<string, string>) => ({ ...jobOf(event), again: true }));
  // The batch has expired: its events belong to another worker.
  t.same(
    await work(due, AbortSignal.abort()),
    due.map(() => 'not reached in time'),
  );
  t.same(await attempts(), [0, 0, 0]);
  await work(due);
  t.same(seen, [
    [0, 0, 1],
    [0, 1, 1],
    [1, 1, 1],
  ]);
});

// Bug: the older round has nothing to do, and hid the failure of the round in force: nothing would retry the event.
for (const again of [false, true])
  t.test(
    `a failed event is retried with an older round beside it, ${again ? 'again' : 'at first'}`,
    async t => {
      const { call, database, deliver, jobs, metrics } = await buildDoor(t);
      await jobs.close();
      await deliver(paymentEvent());
      const [received] = (await call('GET', '/api/webhook-events', 200)).body.data;
      const event = received.id;
      await orm(database.writes).update(webhookEvents).set({ status: 'dead' });
      await call('POST', `/api/webhook-events/${event}/replay`, 200);
      let broken = true;
      const work = workByHand(t, { database, metrics }, async () => {
        if (broken) throw new Error('not fixed yet');
      });
      const due = [1, 0].map(round => ({ ...jobOf(received, round), again }));
      const stored = async () => (await call('GET', `/api/webhook-events/${event}`, 200)).body;
      // The order is random, so one attempt would prove nothing.
      for (let attempt = 1; attempt <= 8; attempt++) {
        t.same(await work(due), ['failed', 'failed']);
        t.match(await stored(), { status: 'failed', replays: 1, attempts: attempt });
      }
      broken = false;
      t.same(await work(due.map(job => ({ ...job, again: true }))), [undefined, undefined]);
      t.match(await stored(), { status: 'processed', replays: 1, attempts: 9 });
    },
  );

// Bug: each retry of one event tried to claim the others of its group as well, one by one.
t.test('a retry of one event costs no claim of the others of its group', async t => {
  const { call, database, deliver, jobs, metrics } = await buildDoor(t);
  await jobs.close();
  for (const n of [1, 2, 3, 4, 5]) await deliver(paymentEvent({ id: `evt_${n}`, customer: `cus_${n}` }));
  const { data } = (await call('GET', '/api/webhook-events', 200)).body;
  const due = data.map((event: Record<string, string>) => ({ ...jobOf(event), again: false }));
  let updates = 0;
  const { writes } = database;
  const rows: typeof writes.rows = (text, params) => {
    if (text.startsWith('update "webhook_events"')) updates++;
    return writes.rows(text, params);
  };
  const watched = { ...database, writes: { ...writes, rows } };
  const work = workByHand(t, { database: watched, metrics }, async (_context, events) => {
    if (events.some(({ customer }) => customer === 'cus_3')) throw new Error('only this one');
  });
  const outcomes = due.map(({ event }: DueJob) => (event === data[2].id ? 'failed' : undefined));
  t.same(await work(due), outcomes, 'first each was tried alone');
  updates = 0;
  t.same(await work(due.map((job: DueJob) => ({ ...job, again: true }))), outcomes);
  t.equal(updates, 2, 'one claim and one failure');
});
