import type { FastifyContextConfig, FastifyInstance, FastifyRequest, FastifySchema } from 'fastify';
import fp from 'fastify-plugin';
import type { Need } from '#src/access/need.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The configuration of the route. `routeOptions` copies all options of it, and hooks ask ten times. */
    config: FastifyContextConfig & { url?: string };
  }
}

/** Looks up the route's configuration before all other hooks. */
async function register(app: FastifyInstance): Promise<void> {
  app.decorateRequest('config');
  app.addHook('onRequest', (request, _reply, done) => {
    request.config = request.routeOptions.config;
    done();
  });
}

export default fp(register, { name: 'routing' });

/** The options of the routes under one tag: what the document says about them, who may call, and their schemas. */
export const routesOf =
  (tag: string) =>
  <const S extends FastifySchema>(
    operationId: string,
    summary: string,
    scope: Need | 'public',
    { config, ...schema }: S & { config?: FastifyContextConfig },
  ) => ({
    config: { ...config, scope },
    schema: { ...(schema as object as S), tags: [tag], operationId, summary },
  });

/** Only path and query: a request line may be an absolute URL with a host that the client made up. */
export const requestTarget = ({ url }: FastifyRequest) => new URL(url, 'http://localhost');
