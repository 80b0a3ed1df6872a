import { setTimeout } from 'node:timers/promises';
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { ref } from '../schemas/common.ts';
import { Live, Ready } from '../schemas/service.ts';
import { AppError } from '../src/core/errors.ts';
import type { Database } from '../src/database/database.ts';
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
    async () => {
      if (leaving()) throw new AppError('unavailable', 'The service is shutting down.', { code: 'ending' });
      if (!database.available()) throw new AppError('unavailable', 'The database cannot be reached.');
      if (!database.hasConnections())
        throw new AppError('unavailable', 'All connections to the database are busy.');
      await Promise.race([database.ping(), tooLate()]);
      return { status: 'ok' as const, database: database.kind };
    },
  );
};

/** Shorter than the usual probe: a late answer would not be read. */
async function tooLate(): Promise<never> {
  await setTimeout(1000, undefined, { ref: false });
  throw new AppError('unavailable', 'The database does not respond.');
}
