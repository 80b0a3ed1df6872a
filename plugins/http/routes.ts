import type { FastifyContextConfig, FastifyInstance, FastifyRequest, FastifySchema } from 'fastify';
import fp from 'fastify-plugin';
import type { Need } from '#src/access/need.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The configuration of the route. `routeOptions` copies all options at each access, and hooks ask ten times. */
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

/** The options of the routes under one tag: what the OpenAPI document says, who may call them, and their schemas. */
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

/** The URL of a request. Use only its path and query: the client may have sent an absolute URL with any host. */
export const requestTarget = ({ url }: FastifyRequest) => new URL(url, 'http://localhost');
