import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { ref } from '../schemas/common.ts';
import { Live, Ready } from '../schemas/service.ts';
import { AppError } from '../src/core/errors.ts';
import type { Database } from '../src/database/database.ts';

const tags = ['Service'];

/** For whoever starts, watches and balances the service. Never limited. */
export const health: FastifyPluginAsyncTypebox<{ database: Database; leaving: () => boolean }> = async (
  app,
  { database, leaving },
) => {
  app.get(
    '/live',
    {
      config: { scope: 'public', rateLimit: false, shed: false },
      schema: {
        tags,
        operationId: 'getLive',
        summary: 'Whether the process answers',
        response: { 200: ref(Live) },
      },
    },
    () => ({ status: 'ok' }),
  );
  app.get(
    '/ready',
    {
      config: { scope: 'public', rateLimit: false, shed: false, errors: ['unavailable'] },
      schema: {
        tags,
        operationId: 'getReady',
        summary: 'Whether requests can be served',
        response: { 200: ref(Ready) },
      },
    },
    async () => {
      if (leaving()) throw new AppError('unavailable', 'The service is ending.', { code: 'ending' });
      if (!database.available()) throw new AppError('unavailable', 'The database is out of reach.');
      if (!database.hasConnections())
        throw new AppError('unavailable', 'No connection to the database becomes free.');
      await within(1000, database.ping());
      return { status: 'ok', database: database.kind };
    },
  );
};

/** The probe has a time limit of its own, shorter than that of the one who asks. */
async function within(milliseconds: number, work: Promise<void>): Promise<void> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => late.reject(new AppError('unavailable', 'The database does not answer.')),
    milliseconds,
  );
  await Promise.race([work, late.promise]).finally(() => clearTimeout(timer));
}
