import { mock } from 'node:test';
import { pino } from 'pino';
import t from 'tap';
import { sql } from '../../drizzle/orm.ts';
import { orm } from '../../src/database/connection.ts';
import { backend, isDistributed, select } from '../helper/database.ts';
import { buildDoor } from '../helper/webhooks.ts';
import { until } from '../rig/process.ts';

const hour = 3_600_000;
const old = '01800000-0000-7000-8000-000000000000';
const oldRows = [
  sql`insert into webhook_events (id, provider, preset, fingerprint, status, body, created_at, updated_at)
    values (${old}, 'stripe', 'stripe', sha256('x'), 'ignored', '{}', '2022-04-01', '2022-04-01')`,
  sql`insert into idempotency_keys (hash, fingerprint, created_at) values ('x', 'x', '2022-04-01')`,
  sql`insert into audit_log (id, created_at, action, record_id, changed, actor_kind, actor_name, door)
    values (${old}, '2022-04-01', 'user.create', 'x', '{}', 'anyone', '', 'rest')`,
];

const skip =
  (backend === 'embedded' && 'transactions do not overlap there') ||
  (isDistributed && 'a row of an event cannot be locked there');

t.test('a locked event is trimmed an hour later, and the other tables meanwhile', { skip }, async t => {
  const messages: string[] = [];
  const log = pino({}, { write: (line: string) => void messages.push(JSON.parse(line).msg) });
  const { database, jobs, restart } = await buildDoor(t, { log });
  await jobs.close();
  for (const row of oldRows) await orm(database.writes).execute(row);
  mock.timers.enable({ apis: ['setInterval'] });
  t.teardown(() => mock.timers.reset());
  await database.writes.transaction(async db => {
    await orm(db).execute(sql`select from webhook_events for update`);
    restart();
    await until('the others are trimmed', () => messages.includes('Trimmed 1 audit log entries.'));
  });
  t.same(messages, [
    'Some old webhook events are locked: the rest is for the next hour.',
    'Trimmed 1 idempotency keys.',
    'Trimmed 1 audit log entries.',
  ]);
  mock.timers.tick(hour);
  await until('it is trimmed', () => messages.includes('Trimmed 1 webhook events.'));
  t.same(await select(database.reads, sql`select from webhook_events`), []);
});
