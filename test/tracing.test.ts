import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { readSettings } from '../src/core/config.ts';
import { openLog } from '../src/core/log.ts';
import { startTracing } from '../src/core/otel.ts';
import { build } from './helper/app.ts';
import { buildDoor, paymentEvent } from './helper/webhooks.ts';

interface Span {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  attributes: { key: string; value: { stringValue?: string } }[];
}

/** What a collector of OTLP over HTTP receives. */
const spans: Span[] = [];
const services = new Set<string>();
const collector = createServer(async (request, response) => {
  let text = '';
  for await (const chunk of request) text += chunk;
  for (const { resource, scopeSpans } of JSON.parse(text).resourceSpans) {
    for (const { key, value } of resource.attributes)
      if (key === 'service.name') services.add(value.stringValue);
    for (const scope of scopeSpans) spans.push(...scope.spans);
  }
  response.setHeader('content-type', 'application/json').end('{}');
}).listen(0, '127.0.0.1');
await once(collector, 'listening');
process.env.OTEL_EXPORTER_OTLP_ENDPOINT = `http://127.0.0.1:${(collector.address() as AddressInfo).port}`;
process.env.OTEL_SERVICE_NAME = 'triport-test';
process.env.OTEL_BSP_SCHEDULE_DELAY = '50';
const stop = startTracing('0.0.0');
t.teardown(async () => {
  await stop();
  collector.close();
});

const traceOf = (digit: string) => digit.repeat(32);
const caller = (digit: string) => ({ traceparent: `00-${traceOf(digit)}-${digit.repeat(16)}-01` });

/** The spans of one trace, when one of this name has come. */
async function spansOf(digit: string, last: string): Promise<Span[]> {
  for (const end = Date.now() + 20_000; Date.now() < end; await sleep(50)) {
    const own = spans.filter(({ traceId }) => traceId === traceOf(digit));
    if (own.some(({ name }) => name === last)) return own;
  }
  throw new Error(`No span ${last} in ${JSON.stringify(spans.map(({ name, traceId }) => [name, traceId]))}`);
}
const textOf = ({ attributes }: Span) =>
  attributes.find(({ key }) => key === 'db.query.text')?.value.stringValue ?? '';

t.test('one trace leads from the arrival of a webhook to the activation', async t => {
  const { deliver, eventually } = await buildDoor(t);
  await deliver(paymentEvent(), 200, caller('a'));
  await eventually('customer=cus_1', 'processed');
  await spansOf('a', 'POST /api/webhooks/:provider');
  const trace = await spansOf('a', 'process webhook event');
  const find = (name: string) => trace.find(span => span.name === name) as Span;
  const arrival = find('POST /api/webhooks/:provider');
  t.equal(arrival.parentSpanId, 'a'.repeat(16), 'the trace of the caller goes on');
  const stored = trace.find(span => /insert into "webhook_events"/.test(textOf(span))) as Span;
  t.equal(stored.parentSpanId, find('transaction').spanId);
  t.equal(find('transaction').parentSpanId, arrival.spanId);
  const processed = find('process webhook event');
  t.equal(processed.parentSpanId, arrival.spanId);
  const activation = trace.find(span => /insert into "subscriptions"/.test(textOf(span))) as Span;
  t.equal(activation.parentSpanId, processed.spanId);
  t.notMatch(JSON.stringify(trace), 'cus_1', 'values are in no span');
  t.same([...services], ['triport-test']);
});

t.test('GraphQL: the operation is below the request, and its statements below the operation', async t => {
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

t.test('log lines of a request carry its trace and its id; health has no trace', async t => {
  const lines: string[] = [];
  const settings = readSettings({ NODE_ENV: 'test', LOG_FORMAT: 'json' });
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
