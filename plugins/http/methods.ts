import { METHODS } from 'node:http';
import fp from 'fastify-plugin';
import { AppError } from '../../src/core/errors.ts';

/** A known path asked in another way: 405 that says which ways there are. Registered before all routes. */
export default fp(async app => {
  // Otherwise a PROPFIND is an unknown path. CONNECT asks for a tunnel and never gets to a router.
  for (const method of METHODS.filter(name => !app.supportedMethods.includes(name) && name !== 'CONNECT'))
    app.addHttpMethod(method);

  const known = new Map<string, Set<string>>();
  app.addHook('onRoute', ({ url, method }) => {
    for (const name of [method].flat()) known.set(url, (known.get(url) ?? new Set()).add(name));
  });

  app.decorate('refuseOtherMethods', () => {
    for (const [url, methods] of [...known]) {
      // Of a route at `/prefix/` the framework tells the HEAD only.
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
        // After the limiter, because it counts; before the body is parsed, because what it holds does not matter.
        preParsing: async (_request, reply) => {
          reply.header('allow', allow);
          throw new AppError('method_not_allowed', `This path answers to ${allow}.`);
        },
        handler: () => {},
      });
    }
  });
});

declare module 'fastify' {
  interface FastifyInstance {
    /** Call it once, when all routes are there. */
    refuseOtherMethods: () => void;
  }
}
