// runs: in its own process
import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { readSettings } from '#src/config/settings.ts';
import { startTraces } from '#src/process/traces.ts';
import { openLog } from '#src/telemetry/log.ts';
import { build } from '#test/helper/app.ts';
import { buildReceiver, paymentEvent } from '#test/helper/events/webhooks.ts';
import { openCollector, type Span } from '#test/helper/servers/collector.ts';
import { until } from '#test/rig/process.ts';

const { url, spans, spansOf: spansOfTrace } = await openCollector(t);
process.env.OTEL_EXPORTER_OTLP_ENDPOINT = url;
process.env.OTEL_SERVICE_NAME = 'triport-test';
process.env.OTEL_BSP_SCHEDULE_DELAY = '50';
t.teardown(await startTraces({ ...process.env, OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json' }));

const traceOf = (digit: string) => digit.repeat(32);
const caller = (digit: string) => ({ traceparent: `00-${traceOf(digit)}-${digit.repeat(16)}-01` });

const spansOf = (digit: string, last: string) => spansOfTrace(traceOf(digit), last);
const textOf = ({ attributes }: Span) =>
  attributes.find(({ key }) => key === 'db.query.text')?.value.stringValue ?? '';

t.test('one trace covers a webhook from its arrival to the activation', async t => {
  const { deliver, eventually } = await buildReceiver(t);
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
  const body = { query: 'query Names { users { name tendings { id } } }' };
  await call('POST', '/api/graphql', 200, { body, headers: caller('b') });
  const trace = await spansOf('b', 'POST /api/graphql');
  const operation = trace.find(({ name }) => name === 'graphql query') as Span;
  t.equal(operation.parentSpanId, trace.find(({ name }) => name === 'POST /api/graphql')?.spanId);
  const statements = trace.filter(span => textOf(span) !== '');
  t.ok(statements.length >= 2);
  t.same(new Set(statements.map(span => span.parentSpanId)), new Set([operation.spanId]));
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

t.test('bug: `traceparent` with -00 took the requests of a stranger out of the traces', async t => {
  const { call } = await build(t);
  const flags = { e: '00', '1': '02', '2': '03', '3': '01' };
  for (const [digit, flag] of Object.entries(flags)) {
    const traceparent = `00-${traceOf(digit)}-${digit.repeat(16)}-${flag}`;
    const headers = { traceparent, 'x-request-id': `request-${digit}` };
    await call('GET', '/api/users', 200, { headers });
    const isOf = ({ attributes }: Span) =>
      attributes.some(({ value }) => value.stringValue === `request-${digit}`);
    await until('the request is in the traces', () => spans.some(isOf), 20);
    const { traceId, parentSpanId } = spans.find(isOf) as Span;
    const isContinued = flag === '01' || flag === '03';
    t.equal(traceId === traceOf(digit), isContinued, `only a sampled trace is continued: ${flag}`);
    t.equal(parentSpanId === digit.repeat(16), isContinued);
    await until('with its statements', () =>
      spans.some(span => span.traceId === traceId && textOf(span).includes('select')),
    );
  }
});
