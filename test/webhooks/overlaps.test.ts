// runs: late, in its own process, also on embedded
import { setTimeout as sleep } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { webhookBatches, webhookQueue } from '#drizzle/tables/service/webhookQueue.ts';
import type { Context } from '#src/access/context.ts';
import { newId } from '#src/core/ids.ts';
import type { Connection } from '#src/database/connection.ts';
import { recordWrites } from '#src/records/audit.ts';
import { fingerprintOf } from '#src/webhooks/envelope.ts';
import { actOnEvent, dismissal, replay } from '#src/webhooks/events.ts';
import { giveUp, processBatch } from '#src/webhooks/processing.ts';
import { type Batch, takeBatch, workOnBatch } from '#src/webhooks/queue.ts';
import { inside } from '#test/helper/access.ts';
import { backend, countRows, openTestDatabase } from '#test/helper/database.ts';
import {
  buildReceiver,
  handling,
  paymentEvent,
  receive,
  workThrough,
  workTogether,
} from '#test/helper/events/webhooks.ts';
import { until } from '#test/rig/process.ts';

/** A database with payments of these customers in its queue, and no worker but those that a test plays. */
async function openQueue(t: Test, customers: string[]) {
  const database = await openTestDatabase(t);
  const context = inside(database);
  for (const [n, customer] of customers.entries())
    await receive(context, paymentEvent({ id: `evt_${n}`, customer }));
  const take = (isAlone = false) => takeBatch(context.db, newId(Date.now()), isAlone);
  const waiting = () => countRows(context.db, webhookQueue);
  return { database, context, take, waiting };
}

/** Handles payments: writes into the audit log that the handler ran, then calls `then`. */
const counting = (then: (context: Context, customers: (string | null)[]) => Promise<void> = async () => {}) =>
  handling('payment_intent.succeeded', {
    effect: '',
    handle: async (context, events) => {
      const writes = events.map(({ customer }) => ({ recordId: customer ?? '' }));
      await recordWrites(context, 'subscription.change', writes);
      await then(
        context,
        events.map(({ customer }) => customer),
      );
      return {};
    },
  });

const effectsOf = async ({ db }: Context) =>
  (await db.rows('select record_id from audit_log order by record_id', [])).flat();

const retries = { most: 2, delay: 0 };
const died = new Error('It died.');
const countIn = (batch: Batch | undefined) => batch?.fingerprints.split(',').length;

/** Looks, as another worker does, for a batch whose process died: twice, a second apart. */
async function findDead(context: Context) {
  const look = () => giveUp(context, undefined, died, retries);
  return (await look()) ?? (await sleep(1000).then(look));
}

t.test('what a worker has taken, no other takes; what it does not process, nobody loses', async t => {
  const { context, take, waiting } = await openQueue(t, ['cus_1', 'cus_2']);
  const batch = (await take()) as Batch;
  t.equal(countIn(batch), 2);
  t.equal(await take(), undefined);
  t.equal(await giveUp(context, undefined, died, retries), undefined, 'it may be between two transactions');
  t.equal((await processBatch(context, counting(), batch)).length, 2);
  t.same(await effectsOf(context), ['cus_1', 'cus_2']);
  t.equal(await waiting(), 0);
  t.equal(await countRows(context.db, webhookBatches), 0);
});

t.test('however long a living worker waits for a connection, nobody takes it for a dead one', async t => {
  const { database, context, waiting } = await openQueue(t, ['cus_1', 'cus_2']);
  const meanwhile: unknown[] = [];
  /** Lets others look for dead batches while the worker waits for the answer with the events. */
  const slowly: Connection['rows'] = async (text, params) => {
    const rows = await database.reads.rows(text, params);
    meanwhile.push(rows.length, await findDead(context));
    return rows;
  };
  const outside = { ...database.reads, rows: slowly };
  const where = { outside, isEmbedded: database.kind === 'embedded', isAlone: false };
  const work = (inside: Context, batch: Batch) => processBatch(inside, counting(), batch);
  await workOnBatch(context, where, work, async error => {
    throw error;
  });
  t.same(meanwhile, [1, undefined]);
  t.same(await effectsOf(context), ['cus_1', 'cus_2']);
  t.equal(await waiting(), 0);
});

t.test('a worker that stood still finds its batch given up, and has no effect', async t => {
  const { context, take } = await openQueue(t, ['cus_1', 'cus_2']);
  const batch = (await take()) as Batch;
  t.equal(await findDead(context), 'separated');
  t.same(await processBatch(context, counting(), batch), []);
  t.same(await effectsOf(context), []);
  t.equal(await giveUp(context, batch, died, retries), undefined, 'nor does it fail an event of others');
  t.equal(await take(), undefined, 'each is tried alone');
  await workThrough(context, counting());
  t.same(await effectsOf(context), ['cus_1', 'cus_2']);
});

t.test(
  'an event that ends its process each time is dead after its retries, and no other is counted',
  async t => {
    const { context, take } = await openQueue(t, ['cus_1', 'cus_2', 'cus_3']);
    const kills = `{"\\\\${fingerprintOf('evt_1').slice(1)}"}`;
    t.equal(countIn(await take()), 3);
    t.equal(await findDead(context), 'separated');
    const outcomes: unknown[] = [];
    for (let batch = await take(true); batch; batch = await take(true)) {
      if (batch.fingerprints === kills) outcomes.push(await findDead(context));
      else await processBatch(context, counting(), batch);
    }
    t.match(outcomes, [{ outcome: 'failed' }, { outcome: 'failed' }, { outcome: 'dead' }]);
    t.same(await effectsOf(context), ['cus_1', 'cus_3']);
    const events = await context.db.rows(
      'select status, attempts, last_error from webhook_events order by id',
      [],
    );
    t.same(events, [
      ['processed', 1, null],
      ['dead', 3, 'It died.'],
      ['processed', 1, null],
    ]);
  },
);

t.test('what an operator did with an event since its attempt began is not undone by its failure', async t => {
  const { context, take, waiting } = await openQueue(t, ['cus_1']);
  const [[id] = []] = await context.db.rows('select id from webhook_events', []);
  const stateOf = async () =>
    (await context.db.rows('select status, attempts, replays from webhook_events', []))[0];
  await giveUp(context, (await take()) as Batch, died, retries);
  const dismissed = (await take(true)) as Batch;
  await actOnEvent(context, dismissal, String(id));
  t.equal(await giveUp(context, dismissed, died, retries), undefined);
  t.same(await stateOf(), ['dismissed', 1, 0]);
  await actOnEvent(context, replay, String(id));
  await giveUp(context, (await take()) as Batch, died, retries);
  const replayed = (await take(true)) as Batch;
  await sleep(5);
  await actOnEvent(context, replay, String(id));
  t.equal(await giveUp(context, replayed, died, retries), undefined);
  t.same(await stateOf(), ['received', 0, 2]);
  t.equal(await waiting(), 1);
});

t.test(
  'a row of the queue without its event does not hold up others, and goes when the event comes',
  async t => {
    const { context } = await openQueue(t, ['cus_1', 'cus_2']);
    await context.db.rows(`delete from webhook_events where event_id = 'evt_0'`, []);
    const [[begun] = []] = await context.db.rows('select clock_timestamp()', []);
    await workThrough(context, counting());
    t.same(await effectsOf(context), ['cus_2']);
    const later = `select due_at > $1::timestamptz + interval '0.4 seconds' from webhook_queue`;
    t.same(await context.db.rows(later, [begun]), [[true]], 'it is not tried again at once');
    t.match(await receive(context, paymentEvent({ id: 'evt_0' })), { outcome: 'received' });
    await until('it is processed', async () => {
      await workThrough(context, counting());
      return (await effectsOf(context)).includes('cus_1');
    });
  },
);

t.test('an event that shows only after its attempt has lost none', async t => {
  const { context, take } = await openQueue(t, ['cus_1']);
  const batch = (await take()) as Batch;
  await context.db.rows('delete from webhook_events', []);
  const error = await processBatch(context, counting(), batch).catch(error => error);
  await receive(context, paymentEvent({ id: 'evt_0' }));
  t.equal(await giveUp(context, batch, error, retries), undefined);
});

t.test('one failing event does not roll back the others of its batch for good', async t => {
  const { context, waiting } = await openQueue(t, ['cus_1', 'cus_2', 'cus_3']);
  const failing = counting(async (_, customers) => {
    if (customers.includes('cus_2')) throw new Error('only this one');
  });
  await workThrough(context, failing);
  t.same(await effectsOf(context), ['cus_1', 'cus_3']);
  t.equal(await waiting(), 1, 'its next attempt is later');
});

// Transactions overlap only on a server.
const test = backend === 'postgres' ? t.test.bind(t) : t.skip.bind(t);

test('workers share the queue: each event takes effect once', async t => {
  const customers = Array.from({ length: 60 }, (_, n) => `cus_${n % 20}`);
  const { context } = await openQueue(t, customers);
  const slow = counting(() => sleep(5));
  await workTogether(context, 4, slow);
  t.same(await effectsOf(context), customers.toSorted());
});

test('events of a customer whom a worker serves wait for it, those of others do not', async t => {
  const { context, take, waiting } = await openQueue(t, ['cus_1']);
  const gate = Promise.withResolvers<void>();
  const isInside = Promise.withResolvers<void>();
  const held = counting(() => {
    isInside.resolve();
    return gate.promise;
  });
  const working = processBatch(context, held, (await take()) as Batch);
  await isInside.promise;
  for (const [n, customer] of ['cus_1', 'cus_2'].entries())
    await receive(context, paymentEvent({ id: `later_${n}`, customer }));
  t.match(await processBatch(context, counting(), (await take()) as Batch), [{ customer: 'cus_2' }]);
  t.equal(await waiting(), 2);
  gate.resolve();
  await working;
  let next: Batch | undefined;
  await until('it is due again', async () => {
    next = await take();
    return next !== undefined;
  });
  t.match(await processBatch(context, counting(), next as Batch), [{ eventId: 'later_0' }]);
  t.equal(await waiting(), 0);
});

test('a replay waits for the worker that has the event, and then finds it done', async t => {
  const gate = Promise.withResolvers<void>();
  let attempts = 0;
  const handle = async () => {
    if (++attempts === 1) throw new Error('once');
    await gate.promise;
  };
  const { call, deliver, eventually } = await buildReceiver(t, { handle });
  await deliver(paymentEvent());
  const event = await eventually('status=failed', 'failed');
  while (attempts < 2) await sleep(20);
  const path = `/api/webhook-events/${event.id}/replay`;
  const [answer] = await Promise.all([call('POST', path, 409), sleep(200).then(gate.resolve)]);
  t.match(answer.body.error.details, { code: 'not_replayable', status: 'processed' });
  t.equal(attempts, 2);
});
