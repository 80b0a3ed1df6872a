// runs: long, in its own process
import { setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import t from 'tap';
import { sql } from '#drizzle/orm.ts';
import { orm } from '#src/database/connection.ts';
import { trimEvents } from '#src/webhooks/events.ts';
import { inside } from '#test/helper/access.ts';
import { backend, isDistributed, select } from '#test/helper/database.ts';
import { oldRows } from '#test/helper/events/oldRows.ts';
import { buildReceiver, paymentEvent } from '#test/helper/events/webhooks.ts';
import { until } from '#test/rig/process.ts';

const skip =
  (backend === 'embedded' && 'transactions do not overlap there') ||
  (isDistributed && 'a row of an event cannot be locked there');

t.test('a locked event is trimmed within a minute, and the other tables meanwhile', { skip }, async t => {
  const messages: string[] = [];
  const log = pino({}, { write: (line: string) => void messages.push(JSON.parse(line).msg) });
  const { database, jobs, restart } = await buildReceiver(t, { log });
  await jobs.close();
  // Forgets what the first start logged: on a busy machine it may have got no connection.
  messages.length = 0;
  for (const row of oldRows) await database.writes.rows(row, []);
  await database.writes.transaction(async db => {
    await orm(db).execute(sql`select from webhook_events for update`);
    restart();
    await until('the others are trimmed', () => messages.length === 2);
    // Waits for longer than a statement tries to get the lock.
    await sleep(3000);
  });
  t.same(messages.toSorted(), ['Trimmed 1 audit log entries.', 'Trimmed 1 idempotency keys.']);
  // Bug: the next attempt came after an hour.
  await until('it is trimmed', () => messages.includes('Trimmed 1 webhook events.'), 60);
  t.same(await select(database.reads, sql`select from webhook_events`), []);
});

t.test('old events are trimmed in batches, dead ones never', async t => {
  // The clock is later than in any other test: ids never go back within a process.
  let clock = new Date('2096-01-01T00:00:00Z');
  const handle = async (_context: unknown, { customer }: { customer: string | null }) => {
    if (customer === 'cus_dead') throw new Error('never');
  };
  const service = await buildReceiver(t, { handle, settings: { WEBHOOK_RETRIES: 0 }, now: () => clock });
  const at = () => Math.floor(clock.getTime() / 1000);
  await service.deliver(paymentEvent({ id: 'old', customer: 'cus_old' }), 200, {}, at());
  await service.deliver({ id: 'old_ignored' }, 200, {}, at());
  await service.deliver(paymentEvent({ id: 'dead', customer: 'cus_dead' }), 200, {}, at());
  await service.eventually('customer=cus_old', 'processed');
  await service.eventually('customer=cus_dead', 'dead');
  clock = new Date('2096-02-01T00:00:00Z');
  await service.deliver({ id: 'new' }, 200, {}, at());
  const context = inside(service.database, () => clock);
  t.equal(await trimEvents(context, new Date('2096-01-15T00:00:00Z')), 2);
  t.equal(await trimEvents(context, new Date('2096-01-15T00:00:00Z')), 0);
  const { body } = await service.call('GET', '/api/webhook-events', 200);
  t.same(
    body.data.map(({ eventId }: { eventId: string }) => eventId),
    ['new', 'dead'],
  );
});
