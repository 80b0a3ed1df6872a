import type { FastifyReply, FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import type { Metrics } from '../../src/telemetry/metrics.ts';

/** A client that invents methods must not create new series. */
const knownMethods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

/** Logs and measures every response. */
export default fp<{ metrics: Metrics }>(async (app, { metrics }) => {
  app.addHook('onResponse', (request, reply, done) => {
    logResponse(request, reply);
    const method = knownMethods.has(request.method) ? request.method : 'other';
    // The pattern of the route: a path would be a new series for each record.
    const labels = { method, route: request.routeOptions.url ?? 'none', status: reply.statusCode };
    metrics.requests.observe(labels, reply.elapsedTime / 1000);
    done();
  });
});

/** One line for each request, without personal data: a query may contain names, and a mistaken path an e-mail address. */
export function logResponse(request: FastifyRequest, reply: FastifyReply): void {
  request.log.info(
    {
      method: request.method,
      path: withoutAddresses(request.url.split(/[?#]/, 1)[0] ?? ''),
      status: reply.statusCode,
      ms: Math.round(reply.elapsedTime * 10) / 10,
      address: request.ip,
    },
    'answered',
  );
}

const isAddress = (text: string) => /@|%40/i.test(text);

/** Segment by segment: one pattern for the whole path would take half a second for the longest one. */
function withoutAddresses(path: string): string {
  if (!isAddress(path)) return path.slice(0, 300);
  const segments = path.split('/').map(segment => (isAddress(segment) ? '[address]' : segment));
  return segments.join('/').slice(0, 300);
}
