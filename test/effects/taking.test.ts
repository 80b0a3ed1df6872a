// runs: long, in its own process, also on embedded
import t from 'tap';
import { eq, sql } from '#drizzle/orm.ts';
import { webhookQueue } from '#drizzle/tables/service/webhookQueue.ts';
import type { Context } from '#src/access/context.ts';
import { type Connection, orm } from '#src/database/connection.ts';
import { users } from '#src/domain/users.ts';
import { leaveEffects, takeEffects } from '#src/effects/taking.ts';
import { processBatch } from '#src/webhooks/processing.ts';
import type { Batch } from '#src/webhooks/queue.ts';
import { inside } from '#test/helper/access.ts';
import { backend, countRows } from '#test/helper/database.ts';
import { noting } from '#test/helper/events/effects.ts';
import { buildReceiver } from '#test/helper/events/webhooks.ts';
import { newPerson } from '#test/helper/resources/records.ts';
import { until } from '#test/rig/process.ts';

const query = 'provider=effects';
const names = ['user.create', 'user.change'];

/** A context in which changes of users have effects, of which no worker hears. */
const writing = (context: Context): Context => ({
  ...context,
  effects: { names: new Set(names), call: () => {} },
});

const take = (context: Context) => takeEffects(context, names, 10, backend === 'embedded');

/** Writes down that a process, which was killed, has taken the first effect. */
const takeByDead = (db: Connection) =>
  db.rows(
    `insert into webhook_batches (id, fingerprints, providers, record, begun_at, leased_until)
      select gen_random_uuid(), array[fingerprint], array[provider], record, now(), now() - interval '1 second'
      from webhook_queue order by version limit 1`,
    [],
  );

/** Creates a user and changes the name twice. */
async function changeTwice(context: Context): Promise<void> {
  const { id } = await users.create(writing(context), newPerson());
  for (const name of ['Grace', 'Joan']) await users.change(writing(context), id, { name });
}

t.test('a worker leaves effects alone that it does not know, and ignores them after a day', async t => {
  const { call, database, eventually, restart, jobs } = await buildReceiver(t, { effects: {} });
  await jobs.close();
  const { id } = await users.create(writing(inside(database)), newPerson());
  const db = orm(database.writes);
  const makeDue = (hours: number) =>
    db.update(webhookQueue).set({ dueAt: sql`now() - ${`${hours} hours`}::interval` });
  const takeUnknown = () => takeEffects(inside(database), ['user.delete'], 10, backend === 'embedded');
  await makeDue(23);
  t.same(await takeUnknown(), []);
  await makeDue(25);
  await db.update(webhookQueue).set({ alone: true });
  t.same(await takeUnknown(), [], 'one that was tried before waits for those who know it');
  await db.update(webhookQueue).set({ alone: false });
  restart();
  const ignored = await eventually(query, 'ignored');
  t.match(ignored, { reason: 'No effect of this name.', type: 'user.create' });
  t.equal(await countRows(database.writes, webhookQueue), 0);
  await call('POST', `/api/webhook-events/${ignored.id}/replay`, 200);
  t.same(await takeUnknown(), [], 'a replay begins a new day');
  const rows = await db.select().from(webhookQueue);
  t.match(rows, [{ effect: 'user.create', record: id, version: 1 }]);
});

t.test('an effect whose worker has died is tried again at once, and the attempt counts', async t => {
  const { seen, effects } = noting(names);
  const { database, eventually, restart, jobs } = await buildReceiver(t, { effects, retryDelay: 3600 });
  await jobs.close();
  await users.create(writing(inside(database)), newPerson());
  await takeByDead(database.writes);
  restart();
  t.match(await eventually(query, 'processed'), { attempts: 2, lastError: null });
  t.equal(seen.length, 1);
});

t.test('an effect whose worker has died keeps its turn', async t => {
  const { seen, effects } = noting(names);
  const { database, restart, jobs } = await buildReceiver(t, { effects, retryDelay: 0 });
  await jobs.close();
  await changeTwice(inside(database));
  await takeByDead(database.writes);
  restart();
  await until('all have had their effect', () => seen.length === 3);
  t.same(
    seen.map(({ version }) => version),
    [1, 2, 3],
  );
});

t.test('a worker whose lease is over changes nothing', async t => {
  const { database, call, jobs } = await buildReceiver(t);
  await jobs.close();
  const context = inside(database);
  await users.create(writing(context), newPerson());
  const [first] = (await take(context)) as [Batch];
  await leaveEffects(context.db);
  const [second] = (await take(context)) as [Batch];
  t.not(first.id, second.id);
  const [{ id }] = (await call('GET', `/api/webhook-events?${query}`, 200)).body.data;
  const done = { effect: '', withoutCustomer: true, handle: async () => ({}) } as const;
  const handlers = new Map([['effects', new Map([['user.create', done]])]]);
  t.same(await processBatch(context, handlers, first), []);
  t.match((await call('GET', `/api/webhook-events/${id}`, 200)).body, { status: 'received' });
  t.match(await processBatch(context, handlers, second), [{ id }]);
  t.match((await call('GET', `/api/webhook-events/${id}`, 200)).body, { status: 'processed' });
});

const skip = backend === 'embedded' && 'an embedded database has one worker';

t.test('an effect that another worker has taken over is told to end', { skip }, async t => {
  const reasons: unknown[] = [];
  const { seen, effects } = noting(['user.create'], (_, { signal }) =>
    seen.length > 1
      ? undefined
      : new Promise((_, reject) =>
          signal.addEventListener('abort', () => {
            reasons.push(signal.reason);
            reject(signal.reason);
          }),
        ),
  );
  const { newUser, eventually, database } = await buildReceiver(t, { effects });
  await newUser();
  await until('it runs', () => seen.length === 1);
  await database.writes.rows('delete from webhook_batches', []);
  t.match(await eventually(query, 'processed'), { attempts: 1 });
  await until('it is told', () => reasons.length === 1);
  t.match(reasons, [{ message: 'The lease was over.' }]);
});

t.test(
  'a record has one effect at a time, whoever takes it: the first, or one after a failed one',
  async t => {
    const { database, jobs } = await buildReceiver(t);
    await jobs.close();
    const context = inside(database);
    await changeTwice(context);
    const db = orm(database.writes);
    async function takenVersions() {
      const taken = (await Promise.all([take(context), take(context)])).flat();
      const prints = taken.map(({ fingerprints }) => JSON.parse(fingerprints.slice(1, -1)));
      const rows = await db.select().from(webhookQueue);
      await leaveEffects(context.db);
      return rows.filter(row => prints.includes(row.fingerprint)).map(row => row.version);
    }
    t.same(await takenVersions(), [1]);
    await db.update(webhookQueue).set({ alone: true }).where(eq(webhookQueue.version, 1));
    t.same(await takenVersions(), [1], 'the failed one is due, and first');
    await db
      .update(webhookQueue)
      .set({ dueAt: sql`now() + interval '1 hour'` })
      .where(eq(webhookQueue.version, 1));
    t.same(await takenVersions(), [2], 'it waits for its next attempt');
    await db
      .update(webhookQueue)
      .set({ dueAt: sql`now()`, effect: 'user.delete' })
      .where(eq(webhookQueue.version, 1));
    t.same(await takenVersions(), [2], 'this worker does not know it');
  },
);

t.test('an effect that is replayed while it runs, runs again', async t => {
  let finish = () => {};
  const { seen, effects } = noting(['user.create'], () => {
    if (seen.length === 1) throw new Error('once');
    if (seen.length > 2) return undefined;
    return new Promise<void>(resolve => {
      finish = resolve;
    });
  });
  const { call, newUser, eventually } = await buildReceiver(t, { effects, retryDelay: 0 });
  await newUser();
  await until('the second attempt runs', () => seen.length === 2);
  const { id } = await eventually(query, 'failed');
  await call('POST', `/api/webhook-events/${id}/replay`, 200);
  t.equal(seen.length, 2, 'not at the same time');
  finish();
  t.match(await eventually(query, 'processed'), { attempts: 1 });
  t.equal(seen.length, 3);
});

t.test('an effect that is dismissed while it runs stays so', async t => {
  let finish = () => {};
  const { seen, effects } = noting(names, ({ name }) => {
    if (seen.length === 1) throw new Error('once');
    if (name === 'user.change') return undefined;
    return new Promise<void>(resolve => {
      finish = resolve;
    });
  });
  const { call, newUser, eventually } = await buildReceiver(t, { effects, retryDelay: 0 });
  const user = await newUser();
  await until('the second attempt runs', () => seen.length === 2);
  const { id } = await eventually(query, 'failed');
  await call('POST', `/api/webhook-events/${id}/dismiss`, 200);
  finish();
  await call('PATCH', `/api/users/${user.id}`, 200, { body: { name: 'Grace' } });
  await eventually(`${query}&type=user.change`, 'processed');
  t.match((await call('GET', `/api/webhook-events/${id}`, 200)).body, { status: 'dismissed' });
});

t.test(
  'a worker that ends leaves the effects that run to others, and their attempts do not count',
  async t => {
    const { seen, effects } = noting(['user.create'], (_, { signal }) =>
      seen.length > 1
        ? undefined
        : new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
    );
    const settings = { REQUEST_TIMEOUT: 1 };
    const { newUser, eventually, restart, jobs } = await buildReceiver(t, { effects, settings });
    await newUser();
    await until('it runs', () => seen.length === 1);
    const begun = performance.now();
    await jobs.close();
    t.ok(performance.now() - begun > 900, 'it has got its time');
    restart();
    t.match(await eventually(query, 'processed'), { attempts: 1 });
    t.equal(seen.length, 2);
    t.equal(seen[0]?.key, seen[1]?.key);
  },
);
