import swagger from '@fastify/swagger';
import swaggerUi from '@fastify/swagger-ui';
import type { RouteOptions } from 'fastify';
import fp from 'fastify-plugin';
import { toolPolicy } from '../http/headers.ts';
import type { Conflict } from './conflicts.ts';
import { completeOperation, documentFor, type Operation } from './document.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The codes of 409 that the document shows; the services throw them. */
    conflicts?: readonly Conflict[];
    anyMediaType?: true;
  }
}

/** The OpenAPI document, generated from the routes, and the page to read and try it. */
export const docs = fp<{ version: string; open: boolean }>(async (app, { version, open }) => {
  app.addHook('onRoute', route => {
    if (/^\/docs(\/|$)/.test(route.url))
      route.config = { scope: 'public', rateLimit: false, ...route.config };
  });
  await app.register(swagger, {
    openapi: documentFor(version),
    refResolver: { buildLocalReference: (json, _base, _fragment, i) => String(json.$id ?? `Schema${i}`) },
    transformObject: source => {
      const document = 'openapiObject' in source ? source.openapiObject : {};
      completeOperations(document.paths, app.routes, open);
      // Without shared objects: YAML would refer to them by anchors, which are hard to read.
      return JSON.parse(JSON.stringify(document));
    },
  });
  await app.register(swaggerUi, {
    routePrefix: '/docs',
    // The default policy of the plugin would forbid the inline styles of its own page.
    staticCSP: toolPolicy,
    uiConfig: {
      docExpansion: 'list',
      displayRequestDuration: true,
      validatorUrl: null,
      layout: 'BaseLayout',
    },
    theme: { title: 'Triport API' },
  });
});

function completeOperations(paths: object | undefined, routes: readonly RouteOptions[], open: boolean): void {
  for (const [path, item] of Object.entries<Record<string, Operation>>({ ...paths }))
    for (const [method, operation] of Object.entries(item)) {
      const url = path.replace(/\{(\w+)\}/g, ':$1');
      const route = routes.find(each => each.url === url && each.method === method.toUpperCase());
      if (route) completeOperation(operation, route, open);
    }
}
