import fp from 'fastify-plugin';
import type { Metrics } from '../../src/telemetry/metrics.ts';

/** A client that invents methods must not create new series. */
const knownMethods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

/** Measures every request by the pattern of its route: a path would be a new series for each record. */
export default fp<{ metrics: Metrics }>(async (app, { metrics }) => {
  app.addHook('onResponse', (request, reply, done) => {
    const { method, routeOptions } = request;
    const labels = {
      method: knownMethods.has(method) ? method : 'other',
      route: routeOptions.url ?? 'none',
      status: reply.statusCode,
    };
    metrics.requests.observe(labels, reply.elapsedTime / 1000);
    done();
  });
  metrics.watch('http_requests_in_flight', 'Requests that are being processed.', undefined, () => {
    return app.pressure.inFlight;
  });
});
