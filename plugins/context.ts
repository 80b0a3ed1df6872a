import type { FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import type { Door } from '../schemas/audit.ts';
import type { Context } from '../src/core/context.ts';
import type { Database } from '../src/core/database.ts';
import { unavailable } from '../src/core/errors.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** By which door this route leads in; `rest` when absent. */
    door?: Door;
  }
  interface FastifyRequest {
    readonly context: Context;
  }
}

/** Gives every request the context that the services work in, or refuses while there is no database. */
export default fp<{ database: Database; now: () => Date }>(async (app, { database, now }) => {
  app.decorateRequest('context', {
    getter(this: FastifyRequest): Context {
      if (!database.available()) throw unavailable();
      const { door = 'rest' } = this.routeOptions.config;
      return { db: database.orm, now, actor: this.actor, door, origin: this };
    },
  });
});
