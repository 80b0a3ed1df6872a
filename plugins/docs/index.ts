import swagger from '@fastify/swagger';
import swaggerUi from '@fastify/swagger-ui';
import type { RouteOptions } from 'fastify';
import fp from 'fastify-plugin';
import type { Conflict } from './conflicts.ts';
import { completeOperation, documentFor, type Operation } from './document.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The codes of 409 that the document shows; the services throw them. */
    conflicts?: readonly Conflict[];
    anyMediaType?: true;
  }
}

// The default policy of the plugin would forbid the inline styles that its own page uses.
const policy =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self' data:; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

/** The OpenAPI document, generated from the routes, and the page to read and try it. */
export const docs = fp<{ version: string; open: boolean }>(async (app, { version, open }) => {
  const routes = new Map<string, RouteOptions>();
  app.addHook('onRoute', route => {
    if (/^\/docs(\/|$)/.test(route.url))
      route.config = { scope: 'public', rateLimit: false, ...route.config };
    for (const method of [route.method].flat()) routes.set(`${method} ${route.url}`, route);
  });
  const complete = (document: { paths?: object | undefined }) => {
    for (const [path, item] of Object.entries<Record<string, Operation>>({ ...document.paths }))
      for (const [method, operation] of Object.entries(item)) {
        const route = routes.get(`${method.toUpperCase()} ${path.replace(/\{(\w+)\}/g, ':$1')}`);
        if (route) completeOperation(operation, route, open);
      }
    // Without shared objects: YAML would refer to them by anchors, which are hard to read.
    return JSON.parse(JSON.stringify(document));
  };

  await app.register(swagger, {
    openapi: documentFor(version),
    refResolver: { buildLocalReference: (json, _base, _fragment, i) => String(json.$id ?? `Schema${i}`) },
    transformObject: source => complete('openapiObject' in source ? source.openapiObject : {}),
  });
  await app.register(swaggerUi, {
    routePrefix: '/docs',
    staticCSP: policy,
    uiConfig: {
      docExpansion: 'list',
      displayRequestDuration: true,
      validatorUrl: null,
      layout: 'BaseLayout',
    },
    theme: { title: 'Triport API' },
  });
});
