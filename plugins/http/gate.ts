import type { RouteOptions } from 'fastify';
import fp from 'fastify-plugin';
import { need } from '../../src/access/need.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Requests of this route that ask for no data, and so for no rights. */
    publicWhen?: (request: FastifyRequest) => boolean;
  }
  interface FastifyInstance {
    /** Every route that there is, for the tests that go through all of them. */
    readonly routes: readonly RouteOptions[];
  }
}

/**
 * Turns away, before a body is read, whom the services would refuse anyway. The services ask again: this gate
 * saves work, it is not the lock. An application with a route that does not say its scope does not start.
 */
export default fp(async app => {
  const routes: RouteOptions[] = [];
  app.decorate('routes', routes);
  app.addHook('onRoute', route => {
    // Says only which methods there are, or what a browser may send.
    if (route.method === 'OPTIONS') route.config = { scope: 'public', ...route.config };
    routes.push(route);
  });
  app.addHook('onReady', async () => {
    const silent = routes.filter(({ config }) => config?.scope === undefined);
    if (silent.length > 0)
      throw new Error(
        `Say in config.scope who may call ${silent.map(({ method, url }) => `${method} ${url}`).join(', ')}.`,
      );
  });

  app.addHook('onRequest', (request, _reply, done) => {
    const { scope, publicWhen } = request.routeOptions.config;
    if (scope === undefined || scope === 'public' || publicWhen?.(request)) return done();
    if (request.refusal !== null) throw request.refusal;
    need(request, scope);
    done();
  });
});
