import type { FastifyInstance } from 'fastify';
import fp from 'fastify-plugin';
import { need } from '#src/access/need.ts';
import { AppError } from '#src/core/errors.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Which requests of this route read no data and need no scope. */
    publicWhen?: (request: FastifyRequest) => boolean;
  }
}

/**
 * Refuses unknown paths, and callers without the scope of the route, before a body is read and after the request was
 * counted. The check of the scope saves work and protects nothing: the services check it again. An application with a
 * route without a scope does not start.
 */
async function register(app: FastifyInstance): Promise<void> {
  app.addHook('onReady', async () => {
    const open = app.routes.filter(({ config }) => config?.scope === undefined);
    const names = open.map(({ method, url }) => `${method} ${url}`).join(', ');
    if (open.length > 0) throw new Error(`Set config.scope of ${names}.`);
  });

  app.addHook('onRequest', (request, _reply, done) => {
    if (request.is404) throw new AppError('not_found', 'There is nothing at this path.');
    const { scope, publicWhen } = request.config;
    if (scope === undefined || scope === 'public' || publicWhen?.(request)) return done();
    const { caller } = request;
    if (caller.refusal) throw caller.refusal;
    need(caller, scope);
    done();
  });
}

export default fp(register, { name: 'gate', dependencies: ['parsing', 'methods', 'limits'] });
