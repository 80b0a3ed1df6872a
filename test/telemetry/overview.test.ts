// runs: in its own process
import { hostname } from 'node:os';
import t from 'tap';
import { revokeKey } from '#src/people/apiKeys.ts';
import { bearer, inside, makeKey } from '#test/helper/access.ts';
import { build } from '#test/helper/app.ts';
import { backend, openTestDatabase } from '#test/helper/database.ts';
import { buildReceiver, paymentEvent } from '#test/helper/events/webhooks.ts';

/** A clock that stands still, 30 seconds before a full minute, until a test moves it. It never goes back. */
const minute = 60_000;
let time = Math.ceil(Date.now() / minute) * minute + minute / 2;
const now = () => new Date(time);
const pass = (seconds: number) => {
  time += seconds * 1000;
};

t.test('only who may administer sees how the service is', async t => {
  const { call, database } = await build(t, { now, settings: { AUTH_MODE: 'required' } });
  const headersOf = async (scope: 'read' | 'write' | 'admin') => ({
    headers: bearer((await makeKey(database, [scope])).key),
  });
  await call('GET', '/api/overview', 401);
  await call('GET', '/api/overview', 403, await headersOf('read'));
  await call('GET', '/api/overview', 403, await headersOf('write'));
  const { body } = await call('GET', '/api/overview', 200, await headersOf('admin'));
  t.match(body, {
    instance: `${hostname()}:${process.pid}`,
    worker: 'inside',
    events: { received: 0, failed: 0, dead: 0, oldestWaitingSeconds: 0, oldestDeadAt: null },
    endingKeys: [],
    database: { kind: backend },
  });
  t.match(body.samples.at(-1).requests, { succeeded: 0, denied: 3 }, 'the first requests are seen at once');
  const age = Date.now() - Date.parse(body.startedAt);
  t.ok(age > 0 && age < 600_000, `${age} ms`);
  const { roundTripMs } = body.database;
  t.ok(roundTripMs > 0 && roundTripMs < 10_000, `${roundTripMs} ms`);
});

t.test('deliveries and events are counted, with the time until their effect', async t => {
  const handle = async () => pass(2);
  const { call, deliver, eventually } = await buildReceiver(t, { now, handle });
  const signedAt = Math.floor(time / 1000);
  await deliver(paymentEvent(), 200, {}, signedAt);
  await eventually('event=evt_1', 'processed');
  await deliver(paymentEvent(), 200, {}, signedAt);
  await deliver({ ...paymentEvent({ id: 'evt_2' }), type: 'charge.captured' }, 200, {}, signedAt);
  await deliver(paymentEvent({ id: 'evt_3' }), 400, { 'stripe-signature': 't=1,v1=00' });
  const [sample] = (await call('GET', '/api/overview', 200)).body.samples;
  t.match(sample, { received: 2, deliveriesRefused: 1, requests: { refused: 1, failed: 0 } });
  t.same(sample.processing, { processed: 1, failed: 0, dead: 0, halfWithin: 1.75, mostWithin: 2.425 });
});

t.test('dead events are counted, with the arrival of the first', async t => {
  const handle = async () => {
    throw new Error('never');
  };
  const settings = { WEBHOOK_RETRIES: 0 };
  const { call, deliver, eventually } = await buildReceiver(t, { now, handle, settings });
  await deliver(paymentEvent(), 200, {}, Math.floor(time / 1000));
  const first = await eventually('event=evt_1', 'dead');
  pass(5);
  await deliver(paymentEvent({ id: 'evt_2' }), 200, {}, Math.floor(time / 1000));
  await eventually('event=evt_2', 'dead');
  const { events, samples } = (await call('GET', '/api/overview', 200)).body;
  t.match(events, { received: 0, failed: 0, dead: 2, oldestDeadAt: first.createdAt });
  t.match(samples.at(-1).processing, { processed: 0, failed: 0, dead: 2, halfWithin: null });
});

t.test('an effect counts as an event: from its change until it has run', async t => {
  const effects = { 'user.create': async () => pass(2) };
  const { call, newUser, eventually } = await buildReceiver(t, { now, effects });
  await newUser();
  await eventually('provider=effects', 'processed');
  const { processing } = (await call('GET', '/api/overview', 200)).body.samples.at(-1);
  t.match(processing, { processed: 1, halfWithin: 1.75 });
});

t.test('changes of records are counted by their kind, and those of other instances too', async t => {
  const database = await openTestDatabase(t);
  const { call, newUser } = await build(t, { now, database });
  const other = await build(t, { now, database });
  const { id } = await newUser();
  await other.newUser({ email: 'other@example.com' });
  await other.call('PATCH', `/api/users/${id}`, 200, { body: { name: 'Grace Hopper' } });
  await call('PATCH', `/api/users/${id}`, 200, { body: { name: 'Grace B. Hopper' } });
  await call('PATCH', `/api/users/${id}`, 200, { body: { name: 'Grace Brewster Hopper' } });
  await call('DELETE', `/api/users/${id}`, 204);
  // The entry of a key has no version.
  await makeKey(database, ['read']);
  const changes = { create: 2, change: 3, delete: 1 };
  const get = async () => (await call('GET', '/api/overview', 200)).body.samples;
  t.same((await get()).at(-1).changes, changes);
  const at = new Date(time - (time % minute)).toISOString();
  pass(60);
  await get();
  await newUser();
  pass(60);
  const [first, second, running] = await get();
  t.match(first, { at, changes, requests: { succeeded: 5 } }, 'they stay in their minute');
  t.match(second, { changes: { create: 1, change: 0, delete: 0 }, requests: { succeeded: 2 } });
  t.match(running, { at: new Date(Date.parse(at) + 2 * minute).toISOString(), changes: { create: 0 } });
});

t.test('a server without a worker says that it knows nothing of processing', async t => {
  const { call } = await build(t, { settings: { WORKER: 'apart' } });
  const { worker, samples } = (await call('GET', '/api/overview', 200)).body;
  t.equal(worker, 'apart');
  t.equal(samples[0].processing, null);
});

t.test('keys are named that end within seven days', async t => {
  const { call, database } = await build(t, { now });
  const inHours = (hours: number) => new Date(time + hours * 3_600_000).toISOString();
  const ending = async () => (await call('GET', '/api/overview', 200)).body.endingKeys;
  const make = (name: string, hours: number) =>
    makeKey(database, ['read'], { name, expiresAt: inHours(hours) });
  await makeKey(database, ['read'], { name: 'for ever' });
  await make('later', 7 * 24 + 1);
  await revokeKey(inside(database), (await make('revoked', 5)).id);
  const last = await make('last', 7 * 24);
  const first = await make('first', 1);
  const named = ({ id, name, expiresAt }: typeof first) => ({ id, name, expiresAt, lastUsedAt: null });
  t.same(await ending(), [named(first), named(last)]);
  pass(3600);
  t.same(
    (await ending()).map(({ name }: typeof first) => name),
    ['last', 'later'],
    'one that has ended is no news',
  );
  for (let i = 0; i < 11; i++) await make(`key ${i}`, 20 - i);
  const names = (await ending()).map(({ name }: typeof first) => name);
  t.same(
    names,
    Array.from({ length: 10 }, (_, i) => `key ${10 - i}`),
    'ten at most',
  );
});
