// runs: long
import { setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import t from 'tap';
import { users } from '#src/domain/users.ts';
import { noting } from '#test/helper/events/effects.ts';
import { buildReceiver, paymentEvent, secret, signatureOf, valuesOf } from '#test/helper/events/webhooks.ts';
import { until } from '#test/rig/process.ts';

const query = 'provider=effects';

t.test(
  'an effect that fails is tried again with its key, then dead; it can be replayed and dismissed',
  async t => {
    let works = false;
    const { seen, effects } = noting(['user.create'], () => {
      if (!works) throw new Error('The sink is closed.');
    });
    const settings = { WEBHOOK_RETRIES: 2 };
    const { call, newUser, eventually, metrics } = await buildReceiver(t, {
      effects,
      settings,
      retryDelay: 0,
    });
    await newUser();
    const dead = await eventually(query, 'dead');
    t.match(dead, { attempts: 3, lastError: 'The sink is closed.' });
    t.equal(seen.length, 3);
    t.equal(new Set(seen.map(({ key }) => key)).size, 1);
    t.equal((await valuesOf(metrics, 'webhook_attempts_failed_total')).get('{outcome="dead"}'), 1);
    works = true;
    await call('POST', `/api/webhook-events/${dead.id}/replay`, 200);
    t.match(await eventually(query, 'processed'), { attempts: 1, id: dead.id });
    t.equal(seen.length, 4);
    t.equal(new Set(seen.map(({ key }) => key)).size, 1);

    works = false;
    await newUser();
    const second = await eventually(query, 'dead');
    await call('POST', `/api/webhook-events/dismiss`, 200, { body: { provider: 'effects' } });
    t.match(await eventually(query, 'dismissed'), { id: second.id });
  },
);

t.test('an event whose id is the key of an effect is another event', async t => {
  const { seen, effects } = noting(['user.create'], async ({ key }) => {
    if (seen.length > 1) return;
    const raw = JSON.stringify(paymentEvent({ id: key }));
    await call('POST', '/api/webhooks/acme', 200, { raw, headers: { 'acme-signature': signatureOf(raw) } });
    throw new Error('once');
  });
  const settings = { WEBHOOK_SECRETS: JSON.stringify({ acme: [secret] }) };
  const { call, newUser, eventually } = await buildReceiver(t, { effects, settings, retryDelay: 0 });
  await newUser();
  t.match(await eventually(query, 'processed'), { attempts: 2, type: 'user.create' });
  t.match(await eventually('provider=acme', 'processed'), { attempts: 1 });
  t.equal(seen.length, 2);
});

t.test('an error that is its own cause fails an attempt', async t => {
  const { effects } = noting(['user.create'], () => {
    const error = new Error('a circle');
    throw Object.assign(error, { cause: error });
  });
  const { newUser, eventually } = await buildReceiver(t, { effects, settings: { WEBHOOK_RETRIES: 0 } });
  await newUser();
  t.match(await eventually(query, 'dead'), { lastError: 'a circle: a circle' });
});

t.test('the error of another service is shown as it is, and that of the database by its code', async t => {
  const { effects } = noting(['user.create', 'user.delete'], async ({ name }, { context }) => {
    if (name === 'user.delete') await users.create(context, { name: 'Ada', email: 'x'.repeat(999) });
    // Nobody listens on this port.
    await fetch('http://127.0.0.1:1');
  });
  const settings = { WEBHOOK_RETRIES: 0 };
  const { call, newUser, eventually } = await buildReceiver(t, { effects, settings });
  const { id } = await newUser();
  t.match(await eventually(query, 'dead'), { lastError: /^fetch failed: / });
  await call('DELETE', `/api/users/${id}`, 204);
  t.match(await eventually(`${query}&type=user.delete`, 'dead'), { lastError: 'database error 23514' });
});

t.test('an effect without an answer is told to end, and counts as ended if it does not', async t => {
  const ends: unknown[] = [];
  const { seen, effects } = noting(['user.create', 'user.delete'], ({ name }, { signal }) => {
    if (name === 'user.delete')
      return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    signal.addEventListener('abort', () => ends.push(signal.reason));
    return new Promise(() => {});
  });
  const lines: string[] = [];
  const log = pino({}, { write: line => void lines.push(line) });
  const settings = { WEBHOOK_RETRIES: 0 };
  const { call, newUser, eventually } = await buildReceiver(t, {
    effects,
    settings,
    log,
    effectTimeout: 300,
  });
  const { id } = await newUser();
  const lastError = 'No answer within 0.3 s.';
  t.match(await eventually(query, 'dead'), { lastError, type: 'user.create' });
  t.equal(ends.length, 1);
  const goesOn = () => lines.filter(line => line.includes('goes on after its signal')).length;
  t.equal(goesOn(), 1);
  await call('DELETE', `/api/users/${id}`, 204);
  t.match(await eventually(`${query}&type=user.delete`, 'dead'), { lastError });
  t.equal(goesOn(), 1, 'the second one has ended');
  t.equal(seen.length, 2);
});

t.test('many effects run side by side, those of a record one after the other and in order', async t => {
  const at = new Map<string, number>();
  let [most, mostOfOne, running] = [0, 0, 0];
  const { seen, effects } = noting(['user.create', 'user.change'], async ({ id }) => {
    running++;
    at.set(id, (at.get(id) ?? 0) + 1);
    most = Math.max(most, running);
    mostOfOne = Math.max(mostOfOne, ...at.values());
    await sleep(50);
    running--;
    at.set(id, (at.get(id) ?? 0) - 1);
  });
  const { call, newUser, restart } = await buildReceiver(t, { effects });
  restart();
  const users = await Promise.all(Array.from({ length: 30 }, () => newUser()));
  for (const { id } of users.slice(0, 5))
    for (const name of ['Grace', 'Joan', 'Mary'])
      await call('PATCH', `/api/users/${id}`, 200, { body: { name } });
  await until('all have had their effect', () => seen.length === 45);
  t.ok(most > 10 && most <= 100, `${most} at once`);
  t.equal(mostOfOne, 1);
  for (const [, own] of Map.groupBy(seen, ({ id }) => id))
    t.same(
      own.map(({ version }) => version),
      own.map((_, i) => i + 1),
    );
});

t.test('a worker runs at most 50 effects at once', async t => {
  const opening = Promise.withResolvers<void>();
  const { seen, effects } = noting(['user.create'], () => opening.promise);
  const { newUser } = await buildReceiver(t, { effects });
  await Promise.all(Array.from({ length: 60 }, () => newUser()));
  await until('they run', () => seen.length === 50);
  // The worker looks each second.
  await sleep(1500);
  t.equal(seen.length, 50);
  opening.resolve();
  await until('all have had their effect', () => seen.length === 60);
});

t.test('an effect that has failed does not hold up the later ones of its record', async t => {
  const { seen, effects } = noting(['user.create', 'user.change'], ({ name }) => {
    if (name === 'user.create' && seen.length === 1) throw new Error('once');
  });
  const { call, newUser, eventually } = await buildReceiver(t, { effects, retryDelay: 4 });
  const { id } = await newUser();
  await eventually(query, 'failed');
  await call('PATCH', `/api/users/${id}`, 200, { body: { name: 'Grace' } });
  await until('all have had their effect', () => seen.length === 3);
  t.same(
    seen.map(({ version }) => version),
    [1, 2, 1],
  );
});
