import type { FastifyContextConfig, FastifyInstance, FastifyRequest, FastifySchema } from 'fastify';
import fp from 'fastify-plugin';
import type { Need } from '#src/access/need.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The configuration of the route. `routeOptions` copies all options at each access, and hooks ask ten times. */
    config: FastifyContextConfig & { url?: string };
  }
}

/** Looks up the route's configuration before all other hooks. Refuses a route that the gate would not know. */
async function register(app: FastifyInstance): Promise<void> {
  app.decorateRequest('config');
  app.addHook('onRequest', (request, _reply, done) => {
    request.config = request.routeOptions.config;
    done();
  });
  app.addHook('onRoute', ({ url }) => {
    // The CORS plugin answers the preflights of all paths.
    if (url !== '*' && !app.hasPlugin('gate')) throw new Error(`Register ${url} after the gate.`);
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

/** The path of a route that has no parameters. */
export const pathOfRoute = ({ config: { url = '' } }: FastifyRequest) => url;

/** The URL of a request. Use only its path and query: the client may have sent an absolute URL with any host. */
export const requestTarget = ({ url }: FastifyRequest) => new URL(url, 'http://localhost');
