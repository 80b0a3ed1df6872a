import t from 'tap';
import { createPostgres } from '../../helper/database.ts';
import { openCollector } from '../../helper/servers/collector.ts';
import { paymentEvent } from '../../helper/webhooks.ts';
import { call, spawnService, startService } from '../../rig/process.ts';
import { deliver, secrets } from '../../rig/sender.ts';

t.test('one trace connects the process that stores a webhook with the one that processes it', async t => {
  const collector = await openCollector(t);
  const env = {
    DATABASE_URL: await createPostgres(t),
    WEBHOOK_SECRETS: secrets,
    WORKER: 'apart',
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_BSP_SCHEDULE_DELAY: '50',
  };
  const service = await startService(t, { ...env, OTEL_SERVICE_NAME: 'receiver' });
  spawnService(t, { ...env, OTEL_SERVICE_NAME: 'worker' }, [], 'src/worker.ts');
  const traceId = 'a'.repeat(32);
  const headers = { traceparent: `00-${traceId}-${'b'.repeat(16)}-01` };
  t.equal((await deliver(service.url, JSON.stringify(paymentEvent()), { headers })).status, 200);
  const [arrival] = (await collector.spansOf(traceId, 'POST /api/webhooks/:provider')).filter(
    ({ name }) => name === 'POST /api/webhooks/:provider',
  );
  const [processed] = (await collector.spansOf(traceId, 'process webhook event')).filter(
    ({ name }) => name === 'process webhook event',
  );
  t.match(arrival, { service: 'receiver', parentSpanId: 'b'.repeat(16) });
  t.match(processed, { service: 'worker', parentSpanId: arrival?.spanId });
  const [{ id }] = (await call(service, 'GET', '/api/webhook-events')).body.data;
  t.match((await call(service, 'GET', `/api/webhook-events/${id}`)).body, { traceId });
  t.equal(await service.kill('SIGTERM'), 0);
});
