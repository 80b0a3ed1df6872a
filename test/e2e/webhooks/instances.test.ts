// runs: late
import t from 'tap';
import { createPostgres } from '#test/helper/database.ts';
import { openCollector } from '#test/helper/servers/collector.ts';
import { call, spawnService, startService, until } from '#test/rig/process.ts';
import { all, pay, payMany, secrets, total } from '#test/rig/sender.ts';
import { freePort } from '#test/rig/servers/ports.ts';

t.test('50 copies of one event at once on two instances: one row, one effect', async t => {
  const env = { WEBHOOK_SECRETS: secrets, DATABASE_URL: await createPostgres(t, { empty: true }) };
  const [one, two] = await Promise.all([startService(t, env), startService(t, env)]);
  for (let round = 0; round < 2; round++) {
    const statuses = await Promise.all(
      Array.from({ length: 50 }, (_, i) => pay((i % 2 ? one : two).url, `evt_${round}`, 'cus_1')),
    );
    t.same(new Set(statuses), new Set([200]));
  }
  await until(
    'both are processed',
    async () => (await total(one.url, '/api/webhook-events?status=processed')) === 2,
  );
  const events = await all(two.url, '/api/webhook-events');
  t.same(
    events.map(({ deliveries }) => deliveries),
    Array(2).fill(50),
    'every delivery is counted',
  );
  const [subscription, ...more] = await all(two.url, '/api/subscriptions');
  t.same(more, []);
  t.equal(subscription.createdAt, subscription.updatedAt);
});

t.test('a separate worker processes what the instances have stored, in the same trace', async t => {
  const collector = await openCollector(t);
  const env = {
    WEBHOOK_SECRETS: secrets,
    DATABASE_URL: await createPostgres(t, { empty: true }),
    WORKER: 'apart',
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_BSP_SCHEDULE_DELAY: '50',
  };
  const service = await startService(t, { ...env, OTEL_SERVICE_NAME: 'receiver' });
  t.equal((await payMany(() => service.url, { from: 0, to: 100 })).size, 100);
  t.equal(await total(service.url, '/api/subscriptions'), 0, 'no worker is running yet');
  const METRICS_PORT = String(await freePort());
  const own = { LOG_LEVEL: 'warn', METRICS_PORT, OTEL_SERVICE_NAME: 'worker' };
  const worker = spawnService(t, { ...env, ...own }, 'src/worker.ts');
  const active = async (count: number) => (await total(service.url, '/api/subscriptions')) === count;
  await until('the worker has processed all of them', () => active(100));

  const measured = await (await fetch(`http://127.0.0.1:${METRICS_PORT}/metrics`)).text();
  t.match(measured, /^webhook_events_processed_total 100$/m);

  const before = Date.now();
  await pay(service.url, 'evt_quiet', 'cus_quiet');
  await until('it has processed one more', () => active(101), 5);
  t.ok(Date.now() - before < 900, `the worker was woken: ${Date.now() - before} ms`);

  const [{ id }] = await all(service.url, '/api/webhook-events?event=evt_quiet');
  const { traceId } = (await call(service, 'GET', `/api/webhook-events/${id}`)).body;
  const [arrival, processed] = await Promise.all(
    ['POST /api/webhooks/:provider', 'process webhook event'].map(async name =>
      (await collector.spansOf(traceId, name)).find(span => span.name === name),
    ),
  );
  t.equal(arrival?.service, 'receiver');
  t.match(processed, { service: 'worker', parentSpanId: arrival?.spanId });
  t.equal(await worker.kill('SIGTERM'), 0);
  t.same([worker.lines, worker.errors()], [[], '']);
});
