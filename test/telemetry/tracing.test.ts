import { type AddressInfo, connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { readSettings } from '../../src/config/settings.ts';
import { openLog } from '../../src/core/log.ts';
import { nameOf } from '../../src/database/tracedConnection.ts';
import { inTransaction } from '../../src/database/write.ts';
import { counterOf } from '../../src/services/kinds.ts';
import { createUser, user } from '../../src/services/users.ts';
import { startTracing } from '../../src/telemetry/otel.ts';
import { inside } from '../helper/access.ts';
import { build } from '../helper/app.ts';
import { openTestDatabase } from '../helper/database.ts';
import { openCollector, type Span } from '../helper/servers/collector.ts';
import { buildDoor, paymentEvent } from '../helper/webhooks.ts';

const { url, spans, spansOf: spansOfTrace } = await openCollector(t);
process.env.OTEL_EXPORTER_OTLP_ENDPOINT = url;
process.env.OTEL_SERVICE_NAME = 'triport-test';
process.env.OTEL_BSP_SCHEDULE_DELAY = '50';
t.teardown(startTracing('0.0.0'));

const traceOf = (digit: string) => digit.repeat(32);
const caller = (digit: string) => ({ traceparent: `00-${traceOf(digit)}-${digit.repeat(16)}-01` });

const spansOf = (digit: string, last: string) => spansOfTrace(traceOf(digit), last);
const textOf = ({ attributes }: Span) =>
  attributes.find(({ key }) => key === 'db.query.text')?.value.stringValue ?? '';

t.test('one trace covers a webhook from its arrival to the activation', async t => {
  const { deliver, eventually } = await buildDoor(t);
  await deliver(paymentEvent(), 200, caller('a'));
  await eventually('customer=cus_1', 'processed');
  await spansOf('a', 'POST /api/webhooks/:provider');
  const trace = await spansOf('a', 'process webhook event');
  const find = (name: string) => trace.find(span => span.name === name) as Span;
  const arrival = find('POST /api/webhooks/:provider');
  t.equal(arrival.parentSpanId, 'a'.repeat(16), "it continues the caller's trace");
  const stored = trace.find(span => /insert into "webhook_events"/.test(textOf(span))) as Span;
  t.equal(stored.parentSpanId, arrival.spanId);
  const processed = find('process webhook event');
  t.equal(processed.parentSpanId, arrival.spanId);
  t.match(stored.name, 'insert webhook_events');
  const { id: event } = await eventually('event=evt_1', 'processed');
  for (const { name, attributes } of [arrival, processed])
    t.match(
      Object.fromEntries(attributes.map(({ key, value }) => [key, value.stringValue])),
      { 'event.id': event, 'event.provider_id': 'evt_1' },
      name,
    );
  const activation = trace.find(span => /insert into "subscriptions"/.test(textOf(span))) as Span;
  t.equal(activation.parentSpanId, processed.spanId);
  t.notMatch(JSON.stringify(trace), 'cus_1', 'no span contains values');
  t.same(new Set(trace.map(({ service }) => service)), new Set(['triport-test']));
});

t.test('a GraphQL operation is a child of its request, and the parent of its statements', async t => {
  const { call, newUser } = await build(t);
  await newUser();
  const body = { query: 'query Names { users { name posts { title } } }' };
  await call('POST', '/api/graphql', 200, { body, headers: caller('b') });
  const trace = await spansOf('b', 'POST /api/graphql');
  const operation = trace.find(({ name }) => name === 'graphql query') as Span;
  t.equal(operation.parentSpanId, trace.find(({ name }) => name === 'POST /api/graphql')?.spanId);
  const statements = trace.filter(span => textOf(span) !== '');
  t.ok(statements.length >= 2);
  t.same(new Set(statements.map(span => span.parentSpanId)), new Set([operation.spanId]));
});

t.test('the span of a statement is named by its first command and table', async t => {
  const names: Record<string, string> = {
    'select "id" from "users" where "users"."id" = $1 for update': 'select users',
    'update "users" set "updated_at" = $1 from json_to_recordset($2) as job': 'update users',
    'insert into "posts" select "id" from json_to_recordset($1)': 'insert posts',
    'delete from "posts" where "id" = $1': 'delete posts',
    '\n WITH new AS ( INSERT INTO other.table_1 (id)': 'insert other.table_1',
    'select "page"."id" from unnest($1) as wanted(id) cross join lateral (select "id" from "posts")':
      'select posts',
    'select 1': 'select',
    '': 'statement',
  };
  for (const [text, name] of Object.entries(names)) t.equal(nameOf(text), name);
});

t.test('log lines have the trace and id of their request; health checks have no trace', async t => {
  const lines: string[] = [];
  const settings = readSettings({ NODE_ENV: 'test' });
  const log = openLog(settings, false, { write: line => lines.push(line) });
  const { call } = await build(t, { log });
  const headers = { ...caller('c'), 'x-request-id': 'mine' };
  await call('POST', '/api/users', 201, { body: { name: 'Ada', email: 'ada@example.com' }, headers });
  const line = lines.map(text => JSON.parse(text)).find(({ msg }) => msg === 'answered');
  t.match(line, { reqId: 'mine', trace_id: traceOf('c'), path: '/api/users' });
  const before = spans.length;
  await spansOf('c', 'POST /api/users');
  await call('GET', '/health/live', 200, { headers: caller('d') });
  await sleep(300);
  t.same(
    spans.slice(before).filter(({ traceId }) => traceId === traceOf('d')),
    [],
  );
});

t.test('the span of a request whose client left has no status of a success', async t => {
  const { app } = await build(t);
  await app.listen({ port: 0, host: '127.0.0.1' });
  const { traceparent } = caller('e');
  const half = `POST /api/users HTTP/1.1\r\nhost: x\r\ntraceparent: ${traceparent}\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n{`;
  const socket = connect((app.server.address() as AddressInfo).port, '127.0.0.1');
  socket.write(half, () => socket.resetAndDestroy());
  const [span] = await spansOf('e', 'POST /api/users');
  t.match(span?.attributes.find(({ key }) => key === 'http.response.status_code')?.value, { intValue: 499 });
});

t.test('a statement belongs to the transaction that runs it', async t => {
  const context = inside(await openTestDatabase(t));
  for (const name of ['first', 'second', 'third']) {
    const taken = inTransaction(context, async within => {
      await createUser(within, { name, email: `${name}@example.com` });
      t.equal((await counterOf([user])(within)).users, 1);
      throw new Error('not after all');
    });
    await t.rejects(taken, { message: 'not after all' });
  }
  t.equal((await counterOf([user])(context)).users, 0);
});
