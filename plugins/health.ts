import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { ref } from '#schemas/parts/common.ts';
import { Live, Ready } from '#schemas/service/about.ts';
import { AppError } from '#src/core/errors.ts';
import type { Database } from '#src/database/database.ts';
import { routesOf } from './http/routes.ts';

const route = routesOf('Service');
// A probe gets an answer however busy the service is.
const config = { rateLimit: false, shed: false, quiet: true } as const;

export const health: FastifyPluginAsyncTypebox<{ database: Database; leaving: () => boolean }> = async (
  app,
  { database, leaving },
) => {
  app.get(
    '/live',
    route('getLive', 'Check that the process responds', 'public', {
      config,
      description: 'Says nothing about the database: a process must not be restarted because that is away.',
      response: { 200: ref(Live) },
    }),
    () => ({ status: 'ok' as const }),
  );
  app.get(
    '/ready',
    route('getReady', 'Check that requests can be served', 'public', {
      config,
      description:
        'Balancers should stop sending requests on a 503. A server that is about to end answers with one, too.',
      response: { 200: ref(Ready) },
    }),
    () => {
      if (leaving()) throw new AppError('unavailable', 'The service is shutting down.', { code: 'ending' });
      if (!database.available()) throw new AppError('unavailable', 'The database cannot be reached.');
      if (!database.hasConnections())
        throw new AppError('unavailable', 'Requests get no connection to the database.');
      return { status: 'ok' as const, database: database.kind };
    },
  );
};
