import { METHODS } from 'node:http';
import type { FastifyInstance, RouteOptions } from 'fastify';
import fp from 'fastify-plugin';
import { AppError } from '#src/core/errors.ts';

declare module 'fastify' {
  interface FastifyInstance {
    /** Every route registered so far. */
    readonly routes: readonly RouteOptions[];
  }
}

/** Lists all routes, so it must be registered before them. */
async function register(app: FastifyInstance): Promise<void> {
  // A method that Fastify does not know, such as PROPFIND, would be a 404. CONNECT never reaches a router.
  for (const method of METHODS.filter(name => !app.supportedMethods.includes(name) && name !== 'CONNECT'))
    app.addHttpMethod(method);

  const routes: RouteOptions[] = [];
  app.decorate('routes', routes);
  app.addHook('onRoute', route => void routes.push(route));
}

export default fp(register, { name: 'methods', dependencies: ['cors'] });

/** A known path with another method is a 405 with `Allow`, not a 404. To be called after all routes are registered. */
export function refuseOtherMethods(app: FastifyInstance): void {
  for (const [url, same] of Map.groupBy(app.routes, ({ url }) => url))
    refuseOthers(app, url, new Set(same.flatMap(({ method }) => method)));
}

function refuseOthers(app: FastifyInstance, url: string, methods: Set<string>): void {
  // Fastify calls `onRoute` for the HEAD of a route at `/prefix/`, but not for its GET.
  if (methods.has('HEAD')) methods.add('GET');
  const allow = [...methods, 'OPTIONS'].sort().join(', ');
  const options = { url, schema: { hide: true }, config: { scope: 'public' } } as const;
  app.route({
    ...options,
    method: 'OPTIONS',
    handler: (_request, reply) => reply.code(204).header('allow', allow).send(),
  });
  app.route({
    ...options,
    method: app.supportedMethods.filter(name => !methods.has(name) && name !== 'OPTIONS'),
    exposeHeadRoute: false,
    // Refuses a request after it was counted, and before its body is parsed.
    preParsing: async (_request, reply) => {
      reply.header('allow', allow);
      throw new AppError('method_not_allowed', `This path supports ${allow}.`);
    },
    handler: () => {},
  });
}
