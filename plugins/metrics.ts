import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { Type } from '@sinclair/typebox';
import type { FastifyPluginAsync } from 'fastify';
import type { Settings } from '#schemas/settings.ts';
import type { Metrics } from '#src/telemetry/metrics.ts';
import { routesOf } from './http/routes.ts';

const route = routesOf('Service');
const response = {
  200: {
    description: 'In the text format of Prometheus.',
    content: { 'text/plain': { schema: Type.String({ examples: ['database_up 1'] }) } },
  },
};

/** Metrics on the main port, for callers with the scope `admin`. */
export const metricsRoute: FastifyPluginAsync<{ metrics: Metrics }> = async (app, { metrics }) => {
  app.get(
    '/metrics',
    route('getMetrics', 'Get the metrics, for Prometheus', 'admin', {
      config: { shed: false },
      description: 'With `METRICS_PORT` they are on that port instead, without credentials.',
      response,
    }),
    async (_request, reply) =>
      reply.type(metrics.registry.contentType).send(await metrics.registry.metrics()),
  );
};

/**
 * Serves metrics on a port of their own, without credentials: it must not be reachable from outside. The port also has
 * the health of the process, because a worker serves nothing else.
 */
export async function serveMetrics(
  { registry }: Metrics,
  { METRICS_PORT, HOST }: Pick<Settings, 'METRICS_PORT' | 'HOST'>,
  isReady: () => boolean,
): Promise<Server> {
  const server = createServer((request, response) => {
    if (request.url === '/health/live') return void response.end();
    if (request.url === '/health/ready') return void response.writeHead(isReady() ? 200 : 503).end();
    if (request.url !== '/metrics') return void response.writeHead(404).end();
    registry.metrics().then(
      text => response.writeHead(200, { 'content-type': registry.contentType }).end(text),
      () => response.writeHead(500).end(),
    );
  });
  server.listen(METRICS_PORT, HOST);
  await once(server, 'listening');
  return server;
}
