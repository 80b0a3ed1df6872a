import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { Type } from '@sinclair/typebox';
import type { FastifyPluginAsync } from 'fastify';
import type { Settings } from '../schemas/settings.ts';
import type { Metrics } from '../src/telemetry/metrics.ts';

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
