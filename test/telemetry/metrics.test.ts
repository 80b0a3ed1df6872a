import { readFileSync } from 'node:fs';
import t from 'tap';
import { webhookQueue } from '#drizzle/tables/service/webhookQueue.ts';
import { orm } from '#src/database/connection.ts';
import { openMetrics } from '#src/process/metrics.ts';
import { Metrics } from '#src/telemetry/metrics.ts';
import { build } from '#test/helper/app.ts';
import { openTestDatabase } from '#test/helper/database.ts';
import { buildReceiver, paymentEvent, secret, signatureOf, valuesOf } from '#test/helper/events/webhooks.ts';

t.test('requests are counted by route pattern, never by path', async t => {
  const metrics = new Metrics();
  const { call, newUser } = await build(t, { metrics });
  const { id } = await newUser();
  await call('GET', `/api/users/${id}`, 200);
  await call('GET', '/api/users/one-that-is-not-there', 404);
  await call('GET', '/no/such/path', 404);
  await call('PROPFIND', '/api/users', 405);
  await call('GET', '/docs/json', 200);
  const counts = await valuesOf(metrics, 'http_request_duration_seconds_count');
  t.same(Object.fromEntries(counts), {
    '{method="POST",route="/api/users",status="201"}': 1,
    '{method="GET",route="/api/users/:user_id",status="200"}': 1,
    '{method="GET",route="/api/users/:user_id",status="404"}': 1,
    '{method="GET",route="none",status="404"}': 1,
    '{method="other",route="/api/users",status="405"}': 1,
    '{method="GET",route="/docs/json",status="200"}': 1,
  });
  t.notMatch(await metrics.registry.metrics(), id);
});

t.test('/metrics covers webhooks, the database, the queue, caches and the process', async t => {
  const { call, deliver, eventually } = await buildReceiver(t);
  await deliver(paymentEvent());
  await deliver(paymentEvent());
  await eventually('customer=cus_1', 'processed');
  await call('POST', '/api/graphql', 200, { body: { query: '{ users { id } }' } });
  const { text, headers } = await call('GET', '/metrics', 200);
  t.match(headers['content-type'], /^text\/plain; version=0\.0\.4/);
  for (const line of [
    'webhooks_received_total{provider="stripe",outcome="received",secret="0"} 1',
    'webhooks_received_total{provider="stripe",outcome="repeated",secret="0"} 1',
    'webhook_events_processed_total 1',
    'webhook_events{status="received"} 0',
    'webhook_oldest_waiting_seconds 0',
    'cache_entries{cache="graphql_documents"} 1',
    'cache_entries{cache="limited_names"} 1',
    'http_requests_in_flight 0',
    'database_up 1',
    'database_statements_waiting 0',
  ])
    t.ok(text.includes(`\n${line}\n`), line);
  t.match(text, /^totals_changes_waiting \d+$/m);
  t.match(text, /^database_oldest_transaction_seconds [\d.]+$/m);
  t.match(text, /^process_cpu_seconds_total [\d.]+$/m);
  t.match(text, /^nodejs_eventloop_lag_p99_seconds [\d.]+$/m);
});

t.test('waiting events are counted, with the age of the oldest', async t => {
  const database = await openTestDatabase(t);
  const metrics = openMetrics(database);
  const settings = { WEBHOOK_SECRETS: JSON.stringify({ stripe: [secret] }) };
  const { call } = await build(t, { settings, database, metrics });
  const raw = JSON.stringify(paymentEvent());
  await call('POST', '/api/webhooks/stripe', 200, { raw, headers: { 'stripe-signature': signatureOf(raw) } });
  await orm(database.writes)
    .update(webhookQueue)
    .set({ dueAt: new Date(Date.now() - 60_000).toISOString() });
  t.equal((await valuesOf(metrics, 'webhook_events')).get('{status="received"}'), 1);
  const age = (await valuesOf(metrics, 'webhook_oldest_waiting_seconds')).get('') ?? 0;
  t.ok(age >= 60 && age < 70, `${age} s`);
  await database.close();
  t.same(await valuesOf(metrics, 'database_up'), new Map([['', 0]]));
  t.same(
    await valuesOf(metrics, 'webhook_oldest_waiting_seconds'),
    new Map(),
    'no value rather than an old one',
  );
});

t.test('with METRICS_PORT there is no /metrics among the routes', async t => {
  const { app } = await build(t, { settings: { METRICS_PORT: 0 } });
  t.equal((await app.inject('/metrics')).statusCode, 404);
});

t.test('the dashboard and the alerts use only metrics that exist', async t => {
  const database = await openTestDatabase(t);
  const metrics = openMetrics(database);
  await build(t, { metrics });
  const real = new Set(
    [...(await metrics.registry.metrics()).matchAll(/^# TYPE (\w+)/gm)].map(([, name]) => name),
  );
  for (const file of ['deploy/grafana-dashboard.json', 'deploy/alerts.yml']) {
    const used = new Set(readFileSync(file, 'utf8').match(metricNames));
    t.ok(used.size > 5, `${file} names ${used.size} metrics`);
    for (const name of used)
      t.ok(real.has(name) || real.has(name.replace(/_(bucket|count|sum)$/, '')), `${name} in ${file}`);
  }
});
const metricNames = /\b(?:http|webhooks?|database|totals|streams|cache|process|nodejs)_[a-z0-9_]+/g;
