import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { Type } from '@sinclair/typebox';
import type { FastifyPluginAsync } from 'fastify';
import fp from 'fastify-plugin';
import type { Settings } from '../schemas/settings.ts';
import type { Metrics } from '../src/core/metrics.ts';

/** The methods that are told apart. Others are few, and whoever makes names up shall not fill the memory. */
const known = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

/** Measures every request by the pattern of its route: a path would be a new series for each record. */
export const measuring = fp<{ metrics: Metrics }>(async (app, { metrics }) => {
  app.addHook('onResponse', (request, reply, done) => {
    const { method, routeOptions } = request;
    const labels = {
      method: known.has(method) ? method : 'other',
      route: routeOptions.url ?? 'none',
      status: reply.statusCode,
    };
    metrics.requests.observe(labels, reply.elapsedTime / 1000);
    done();
  });
  metrics.watch('http_requests_in_flight', 'Requests that are worked on now.', undefined, () => {
    return app.pressure.inFlight;
  });
});

/** What is measured, on the port of everything else: for whoever may do everything. */
export const metricsRoute: FastifyPluginAsync<{ metrics: Metrics }> = async (app, { metrics }) => {
  app.get(
    '/metrics',
    {
      config: { scope: 'admin', shed: false },
      schema: {
        tags: ['Service'],
        operationId: 'getMetrics',
        summary: 'What is measured, for Prometheus',
        response: {
          200: {
            description: 'In the text format of Prometheus.',
            content: { 'text/plain': { schema: Type.String({ examples: ['database_up 1'] }) } },
          },
        },
      },
    },
    async (_request, reply) => reply.type(metrics.contentType).send(await metrics.read()),
  );
};

/** The same on a port of its own, where nobody is asked who he is: it belongs into a network of its own. */
export async function serveMetrics(
  metrics: Metrics,
  { METRICS_PORT, HOST }: Pick<Settings, 'METRICS_PORT' | 'HOST'>,
): Promise<Server> {
  const server = createServer((request, response) => {
    if (request.url !== '/metrics') return void response.writeHead(404).end();
    metrics.read().then(
      text => response.writeHead(200, { 'content-type': metrics.contentType }).end(text),
      () => response.writeHead(500).end(),
    );
  });
  server.listen(METRICS_PORT, HOST);
  await once(server, 'listening');
  return server;
}
