// runs: long, in its own process, also on embedded
import { setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import t from 'tap';
import { webhookQueue } from '#drizzle/tables/service/webhookQueue.ts';
import { countRows } from '#test/helper/database.ts';
import { buildReceiver, paymentEvent, valuesOf } from '#test/helper/events/webhooks.ts';

const [atOnce, late] = [{ retryDelay: 0 }, { retryDelay: 3600 }];

t.test('a handler that throws nine times and then succeeds takes effect once', async t => {
  let calls = 0;
  const handle = async () => {
    calls++;
    if (calls < 10) throw new Error(`not yet\0, ${calls}`);
  };
  const { call, deliver, eventually } = await buildReceiver(t, { handle, ...atOnce });
  await deliver(paymentEvent());
  const event = await eventually('customer=cus_1', 'processed');
  t.match(event, { attempts: 10, lastError: null });
  t.equal(calls, 10);
  const { body } = await call('GET', `/api/webhook-events/${event.id}`, 200);
  t.same(
    body.failures.map(({ attempt, error }: { attempt: number; error: string }) => [attempt, error]),
    Array.from({ length: 9 }, (_, i) => [i + 1, `not yet\ufffd, ${i + 1}`]),
  );
});

// This is the only test that waits for a real retry, after a second.
t.test('an event that always fails becomes dead, is counted, and can be replayed after a fix', async t => {
  let broken = true;
  const handle = async () => {
    if (broken) throw new Error('not fixed yet');
  };
  const { call, deliver, eventually, metrics } = await buildReceiver(t, {
    handle,
    settings: { WEBHOOK_RETRIES: 1 },
  });
  await deliver(paymentEvent());
  const dead = await eventually('status=dead', 'dead');
  t.match(dead, { attempts: 2, lastError: 'not fixed yet', processedAt: null });
  t.equal((await valuesOf(metrics, 'webhook_attempts_failed_total')).get('{outcome="dead"}'), 1);
  // A dead event that the provider sends again is acknowledged, but not retried.
  await deliver(paymentEvent());
  t.equal((await call('GET', `/api/webhook-events/${dead.id}`, 200)).body.status, 'dead');

  broken = false;
  const replayed = await call('POST', `/api/webhook-events/${dead.id}/replay`, 200);
  t.match(replayed.body, {
    status: 'received',
    attempts: 0,
    replays: 1,
    failures: [{ round: 0 }, { round: 0 }],
  });
  t.match(await eventually('customer=cus_1', 'processed'), { attempts: 1 });
  const refused = await call('POST', `/api/webhook-events/${dead.id}/replay`, 409);
  t.match(refused.body.error.details, { code: 'not_replayable', status: 'processed' });
  await call('POST', '/api/webhook-events/nothing/replay', 404);
});

t.test('a replay of an event that waits for its next attempt makes it due at once', async t => {
  const handle = async () => {
    throw new Error('always');
  };
  const { call, database, deliver, eventually } = await buildReceiver(t, { handle, ...late });
  await deliver(paymentEvent());
  const event = await eventually('status=failed', 'failed');
  await call('POST', `/api/webhook-events/${event.id}/replay`, 200);
  await eventually('status=failed', 'failed');
  t.match((await call('GET', `/api/webhook-events/${event.id}`, 200)).body, {
    attempts: 1,
    replays: 1,
    failures: [
      { round: 0, attempt: 1, error: 'always' },
      { round: 1, attempt: 1, error: 'always' },
    ],
  });
  t.equal(await countRows(database.writes, webhookQueue), 1, 'it waits once');
});

t.test('a failed or dead event can be dismissed: it is not tried again, and counts nowhere', async t => {
  let broken = true;
  const handle = async () => {
    if (broken) throw new Error('malformed');
  };
  const { call, database, deliver, eventually } = await buildReceiver(t, { handle, ...late });
  const paths = (event: { id: string }, what: string) => `/api/webhook-events/${event.id}/${what}`;
  await deliver(paymentEvent());
  const event = await eventually('status=failed', 'failed');
  const { body } = await call('POST', paths(event, 'dismiss'), 200);
  t.match(body, { status: 'dismissed', lastError: 'malformed', failures: [{ round: 0, attempt: 1 }] });
  t.equal(await countRows(database.writes, webhookQueue), 0);
  t.same((await call('GET', '/api/webhook-backlog', 200)).body.counts, { received: 0, failed: 0, dead: 0 });
  const audit = (await call('GET', '/api/audit?action=event.dismiss', 200)).body.data;
  t.match(audit, [{ recordId: event.id, actorKind: 'anyone' }]);
  const refused = await call('POST', paths(event, 'dismiss'), 409);
  t.match(refused.body.error.details, { code: 'not_dismissible', status: 'dismissed' });
  await call('POST', '/api/webhook-events/nothing/dismiss', 404);
  broken = false;
  await call('POST', paths(event, 'replay'), 200);
  await eventually('customer=cus_1', 'processed');
  await call('POST', paths(event, 'dismiss'), 409);
});

t.test('events are replayed and dismissed by filter, a dry run only counts, and each is audited', async t => {
  let broken = true;
  const handle = async () => {
    if (broken) throw new Error('not fixed yet');
  };
  const { call, deliver, eventually } = await buildReceiver(t, { handle, settings: { WEBHOOK_RETRIES: 0 } });
  for (let i = 0; i < 6; i++)
    await deliver(paymentEvent({ id: `evt_${i}`, customer: i < 4 ? 'cus_a' : 'cus_b' }));
  await deliver({ id: 'evt_other', type: 'charge.captured' });
  const count = async (path: string) => (await call('GET', path, 200)).body.data.length;
  const dead = () => count('/api/webhook-events?status=dead');
  // The pause lets timers run: back-to-back calls to the embedded database starve them.
  for (const end = Date.now() + 60_000; (await dead()) < 6 && Date.now() < end; ) await sleep(25);
  broken = false;
  t.match((await call('GET', '/api/webhook-backlog', 200)).body, { counts: { received: 0, dead: 6 } });
  const send = async (path: string, body: object, status = 200) =>
    (await call('POST', `/api/webhook-events/${path}`, status, { body })).body;

  t.same(await send('replay', { customer: 'cus_a', dryRun: true }), { replayed: 0, remaining: 4 });
  t.same(await send('dismiss', { dryRun: true }), { dismissed: 0, remaining: 6 });
  t.equal(await dead(), 6, 'a dry run only counts');
  t.same(await send('replay', { customer: 'cus_a', status: 'failed' }), { replayed: 0, remaining: 0 });
  t.same(await send('dismiss', { status: 'failed' }), { dismissed: 0, remaining: 0 });
  t.same(await send('replay', { customer: 'cus_a' }), { replayed: 4, remaining: 0 });
  t.same(await send('replay', { status: 'ignored' }), { replayed: 1, remaining: 0 });
  t.same(await send('dismiss', {}), { dismissed: 2, remaining: 0 });
  await eventually('customer=cus_a', 'processed');
  await eventually('type=charge.captured', 'ignored');
  t.equal(await count('/api/webhook-events?status=dismissed'), 2);
  t.equal(await count('/api/audit?action=event.replay'), 5);
  t.equal(await count('/api/audit?action=event.dismiss'), 2);
  await send('replay', { status: 'processed' }, 400);
  await send('replay', { staus: 'dead' }, 400);
  await send('dismiss', { status: 'ignored' }, 400);
});

t.test("every log line about an event has the provider's id", async t => {
  const lines: Record<string, unknown>[] = [];
  const log = pino({ level: 'info' }, { write: (line: string) => void lines.push(JSON.parse(line)) });
  const handle = () => Promise.reject(new Error('never'));
  const settings = { WEBHOOK_RETRIES: 1 };
  const { deliver, eventually } = await buildReceiver(t, { handle, log, ...atOnce, settings });
  await deliver(paymentEvent());
  await eventually('event=evt_1', 'dead');
  const about = lines.filter(({ msg }) => /webhook|event/.test(String(msg)));
  t.same(
    about.map(({ msg }) => String(msg).slice(0, 30)),
    ['webhook received', 'A webhook event failed and wil', 'A webhook event failed for the'],
  );
  const [provider, eventId, type, customer] = ['stripe', 'evt_1', 'payment_intent.succeeded', 'cus_1'];
  for (const line of about) t.match(line, { provider, eventId, type, customer });
});

t.test('an event fails on request only where NODE_ENV is set to development or test', async t => {
  for (const [NODE_ENV, attempts] of [
    ['development', 2],
    ['test', 2],
    ['production', 1],
    [undefined, 1],
  ] as const) {
    const { deliver, eventually } = await buildReceiver(t, {
      handle: async () => {},
      settings: { NODE_ENV } as never,
      ...atOnce,
    });
    await deliver(paymentEvent({ id: 'evt_fail_1' }));
    t.match(await eventually('customer=cus_1', 'processed'), { attempts }, `${NODE_ENV}`);
  }
});
