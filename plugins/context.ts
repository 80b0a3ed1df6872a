import fp from 'fastify-plugin';
import type { Context } from '../src/core/context.ts';
import type { Database } from '../src/core/database.ts';
import { AppError } from '../src/core/errors.ts';

declare module 'fastify' {
  interface FastifyRequest {
    readonly context: Context;
  }
}

/** Gives every request the context that the services work in, or refuses while there is no database. */
export default fp<{ database: Database; now: () => Date }>(async (app, { database, now }) => {
  const context: Context = { db: database.orm, now };
  app.decorateRequest('context', {
    getter() {
      if (!database.available())
        throw new AppError('unavailable', 'The service cannot reach its database. Try again shortly.');
      return context;
    },
  });
});
