import { METHODS } from 'node:http';
import fp from 'fastify-plugin';
import { AppError } from '../../src/core/errors.ts';

declare module 'fastify' {
  interface FastifyInstance {
    /** To be called once, after all routes are registered. */
    refuseOtherMethods: () => void;
  }
}

/** A known path with another method is a 405 with `Allow`, not a 404. Registered before all routes. */
export default fp(async app => {
  // Otherwise a PROPFIND would be an unknown path. CONNECT never reaches a router.
  for (const method of METHODS.filter(name => !app.supportedMethods.includes(name) && name !== 'CONNECT'))
    app.addHttpMethod(method);

  const methodsOf = new Map<string, Set<string>>();
  app.addHook('onRoute', ({ url, method }) => {
    for (const name of [method].flat()) methodsOf.set(url, (methodsOf.get(url) ?? new Set()).add(name));
  });

  app.decorate('refuseOtherMethods', () => {
    for (const [url, methods] of [...methodsOf]) {
      // For a route at `/prefix/` Fastify reports only the HEAD.
      if (methods.has('HEAD')) methods.add('GET');
      const allow = [...methods, 'OPTIONS'].sort().join(', ');
      app.options(url, { schema: { hide: true } }, (_request, reply) =>
        reply.code(204).header('allow', allow).send(),
      );
      app.route({
        url,
        method: app.supportedMethods.filter(name => !methods.has(name) && name !== 'OPTIONS'),
        schema: { hide: true },
        config: { scope: 'public' },
        exposeHeadRoute: false,
        // After the request was counted, and before its body is parsed.
        preParsing: async (_request, reply) => {
          reply.header('allow', allow);
          throw new AppError('method_not_allowed', `This path supports ${allow}.`);
        },
        handler: () => {},
      });
    }
  });
});
