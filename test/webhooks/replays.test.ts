// runs: in its own process
import t from 'tap';
import { sql } from '#drizzle/orm.ts';
import { orm } from '#src/database/connection.ts';
import { actOnEvent, actOnEvents, dismissal, replay, trimEvents } from '#src/webhooks/events.ts';
import { inside } from '#test/helper/access.ts';
import { backend, isDistributed, select } from '#test/helper/database.ts';
import { buildReceiver, paymentEvent } from '#test/helper/events/webhooks.ts';
import { until } from '#test/rig/process.ts';

const skip =
  (backend === 'embedded' && 'transactions do not overlap there') ||
  (isDistributed && 'the wait is on another node, where this test does not see it');

const waiting = sql`select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;

t.test('an event that is replayed while it is trimmed stays', { skip }, async t => {
  const { call, database, deliver, jobs } = await buildReceiver(t);
  await jobs.close();
  await deliver({ ...paymentEvent(), type: 'customer.created' });
  const [{ id }] = (await call('GET', '/api/webhook-events', 200)).body.data;
  const context = inside(database);
  let trimming: Promise<number> | undefined;
  await database.writes.transaction(async db => {
    await actOnEvent({ ...context, db }, replay, id);
    trimming = database.writes.transaction(async db => {
      await db.rows(`select set_config('lock_timeout', '2000', true)`, []);
      return trimEvents({ ...context, db }, new Date(Date.now() + 1000));
    });
    await until('it waits', async () => (await select(database.reads, waiting)).length > 0);
  });
  t.equal(await trimming, 0);
  t.match((await call('GET', `/api/webhook-events/${id}`, 200)).body, { status: 'received', replays: 1 });
});

t.test('a replay that finds its events taken by another one goes on to the next', { skip }, async t => {
  const { database, jobs } = await buildReceiver(t);
  await jobs.close();
  const context = inside(database);
  const db = orm(database.writes);
  await db.execute(sql`insert into webhook_events (id, provider, preset, fingerprint, status, body, created_at, updated_at)
    select gen_random_uuid(), 'stripe', 'stripe', sha256(i::text::bytea), 'ignored', '{}', now() - interval '1 minute', now() - interval '1 minute'
    from generate_series(1, 600) i`);
  let replaying: Promise<object> | undefined;
  await database.writes.transaction(async inside => {
    await orm(inside).execute(sql`update webhook_events set status = 'received'
      where id in (select id from webhook_events order by id limit 500)`);
    replaying = actOnEvents(context, replay, { status: 'ignored' });
    await until('it waits', async () => (await select(database.reads, waiting)).length > 0);
  });
  t.same(await replaying, { replayed: 100, remaining: 0 });
});

t.test('a replay of dead events leaves one that is dismissed meanwhile', { skip }, async t => {
  const { call, database, deliver, jobs } = await buildReceiver(t);
  await jobs.close();
  await deliver(paymentEvent());
  const [{ id }] = (await call('GET', '/api/webhook-events', 200)).body.data;
  const context = inside(database);
  await orm(database.writes).execute(sql`update webhook_events set status = 'dead'`);
  let replaying: Promise<object> | undefined;
  await database.writes.transaction(async db => {
    await actOnEvent({ ...context, db }, dismissal, id);
    replaying = actOnEvents(context, replay, { status: 'dead' });
    await until('it waits', async () => (await select(database.reads, waiting)).length > 0);
  });
  t.same(await replaying, { replayed: 0, remaining: 0 });
  t.match((await call('GET', `/api/webhook-events/${id}`, 200)).body, { status: 'dismissed', replays: 0 });
});
