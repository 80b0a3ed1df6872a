// runs: in its own process
import t from 'tap';
import { eq, sql } from '#drizzle/orm.ts';
import { webhookQueue } from '#drizzle/tables/service/webhookQueue.ts';
import type { Context } from '#src/access/context.ts';
import { orm } from '#src/database/connection.ts';
import { users } from '#src/domain/users.ts';
import type { Effects } from '#src/effects/effect.ts';
import {
  deadEffects,
  finishEffects,
  ignoreUnknown,
  leaveAll,
  type Taken,
  takeEffects,
} from '#src/effects/leases.ts';
import { openOutbox } from '#src/effects/outbox.ts';
import { inside } from '#test/helper/access.ts';
import { backend, countRows } from '#test/helper/database.ts';
import { noting } from '#test/helper/effects.ts';
import { buildReceiver } from '#test/helper/events/webhooks.ts';
import { newPerson } from '#test/helper/resources/records.ts';
import { until } from '#test/rig/process.ts';

const query = 'provider=effects';
const names = ['user.create', 'user.change'];

/** A context in which changes of users have effects that no worker knows. */
const writing = (context: Context): Context => ({
  ...context,
  effects: openOutbox(Object.fromEntries(names.map(name => [name, async () => {}])) as Effects, () => {}),
});

/** Takes what is due and keeps it. */
async function take(context: Context, most = 10) {
  let taken: Taken[] = [];
  await takeEffects(context, names, most, found => {
    taken = found;
    return new Promise(() => {});
  });
  return taken;
}

t.test('a worker leaves effects alone that it does not know, and ignores them after a day', async t => {
  const { seen, effects } = noting(['user.create']);
  const { call, database, eventually, restart } = await buildReceiver(t, {
    effects: { 'user.delete': effects['user.create'] },
  });
  const { id } = await users.create(writing(inside(database)), newPerson());
  const db = orm(database.writes);
  const makeDue = (hours: number) =>
    db.update(webhookQueue).set({ dueAt: sql`now() - ${`${hours} hours`}::interval` });
  await makeDue(23);
  t.equal(await ignoreUnknown(inside(database), ['user.delete']), 0);
  await makeDue(25);
  t.equal(await ignoreUnknown(inside(database), ['user.create']), 0, 'a worker that knows it');
  t.equal(await ignoreUnknown(inside(database), ['user.delete']), 1);
  const ignored = await eventually(query, 'ignored');
  t.match(ignored, { reason: 'No effect of this name for a day.', type: 'user.create' });
  t.equal(await countRows(database.writes, webhookQueue), 0);
  await call('POST', `/api/webhook-events/${ignored.id}/replay`, 200);
  t.equal(await ignoreUnknown(inside(database), []), 0, 'a replay begins a new day');
  t.same(
    (await db.select().from(webhookQueue)).map(({ effect, record, version }) => ({
      effect,
      record,
      version,
    })),
    [{ effect: 'user.create', record: id, version: 1 }],
  );
  t.equal(seen.length, 0);
  restart();
});

t.test('an effect whose worker has died is tried again at once, and the attempt counts', async t => {
  const { seen, effects } = noting(['user.create']);
  const { database, eventually, restart, jobs } = await buildReceiver(t, { effects, retryDelay: 3600 });
  await jobs.close();
  await users.create(writing(inside(database)), newPerson());
  // As a process does that is killed.
  await orm(database.writes)
    .update(webhookQueue)
    .set({ lease: crypto.randomUUID(), dueAt: sql`now() - interval '1 second'` });
  restart();
  t.match(await eventually(query, 'processed'), { attempts: 2, lastError: null });
  t.equal(seen.length, 1);
});

t.test('an attempt whose worker has died keeps the turn of its effect', async t => {
  const { seen, effects } = noting(names);
  const { database, restart, jobs } = await buildReceiver(t, { effects, retryDelay: 0 });
  await jobs.close();
  const context = inside(database);
  const { id } = await users.create(writing(context), newPerson());
  for (const name of ['Grace', 'Joan']) await users.change(writing(context), id, { name });
  await orm(database.writes)
    .update(webhookQueue)
    .set({ lease: crypto.randomUUID(), dueAt: sql`now() - interval '1 second'` })
    .where(eq(webhookQueue.version, 1));
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
  const [first] = (await take(context)) as [Taken];
  await leaveAll(context);
  const [second] = (await take(context)) as [Taken];
  t.not(first.lease, second.lease);
  const [{ id }] = (await call('GET', `/api/webhook-events?${query}`, 200)).body.data;
  t.same(await finishEffects(context, [{ ...first, id }]), [false]);
  t.match((await call('GET', `/api/webhook-events/${id}`, 200)).body, { status: 'received' });
  t.same(await finishEffects(context, [{ ...second, id }]), [true]);
  t.match((await call('GET', `/api/webhook-events/${id}`, 200)).body, { status: 'processed' });
});

t.test('a lease of this process is alive as long as it is renewed', async t => {
  const { database, jobs } = await buildReceiver(t);
  await jobs.close();
  const context = inside(database);
  await users.create(writing(context), newPerson());
  const [taken] = (await take(context)) as [Taken];
  t.same(await deadEffects(context, backend === 'embedded'), []);
  await orm(database.writes).update(webhookQueue).set({ dueAt: sql`now() - interval '1 second'` });
  const dead = await deadEffects(context, false);
  t.same(dead, [taken]);
});

t.test(
  'a record has one effect at a time, whoever takes them: the first, or one that follows a failed one',
  async t => {
    const { database, jobs } = await buildReceiver(t);
    await jobs.close();
    const context = inside(database);
    const { id } = await users.create(writing(context), newPerson());
    for (const name of ['Grace', 'Joan']) await users.change(writing(context), id, { name });
    const versions = async () => {
      const taken = (await Promise.all([take(context), take(context)])).flat();
      const rows = await orm(database.writes).select().from(webhookQueue);
      const found = taken.map(each => rows.find(row => row.fingerprint.equals(each.fingerprint))?.version);
      await leaveAll(context);
      return found;
    };
    t.same(await versions(), [1]);
    await orm(database.writes).update(webhookQueue).set({ alone: true }).where(eq(webhookQueue.version, 1));
    t.same(await versions(), [1], 'the failed one is due, and first');
    await orm(database.writes)
      .update(webhookQueue)
      .set({ dueAt: sql`now() + interval '1 hour'` })
      .where(eq(webhookQueue.version, 1));
    t.same(await versions(), [2], 'it waits for its next attempt');
  },
);

t.test('a replay of an effect that runs leaves it to its worker', async t => {
  let finish = () => {};
  const { seen, effects } = noting(['user.create'], () => {
    if (seen.length === 1) throw new Error('once');
    return new Promise<void>(resolve => {
      finish = resolve;
    });
  });
  const { call, newUser, eventually } = await buildReceiver(t, { effects, retryDelay: 0 });
  await newUser();
  await until('the second attempt runs', () => seen.length === 2);
  const { id } = await eventually(query, 'failed');
  await call('POST', `/api/webhook-events/${id}/replay`, 200);
  finish();
  t.match(await eventually(query, 'processed'), { attempts: 1 });
  t.equal(seen.length, 2);
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
    await jobs.close();
    t.equal(seen.length, 1, 'it has got its time');
    restart();
    t.match(await eventually(query, 'processed'), { attempts: 1 });
    t.equal(seen[0]?.key, seen[1]?.key);
  },
);
