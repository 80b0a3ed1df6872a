import swagger from '@fastify/swagger';
import swaggerUi from '@fastify/swagger-ui';
import type { RouteOptions } from 'fastify';
import fp from 'fastify-plugin';
import type { Conflict } from '../../src/core/conflicts.ts';
import { toolPolicy } from '../http/headers.ts';
import { completeOperation, conflictsOf, documentFor, type Operation, type Section } from './document.ts';
import { conflictExamples, schemasOfErrors } from './errors.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The codes of 409 that the document shows; the services throw them. */
    conflicts?: readonly Conflict[];
    anyMediaType?: true;
    /** For a record with a version. */
    versioned?: true;
  }
}

/** The OpenAPI document, generated from the routes, and the page to read and try it. */
export const docs = fp<{ version: string; open: boolean; resources: Section[] }>(async (app, options) => {
  const { version, open, resources } = options;
  app.addHook('onRoute', route => {
    if (/^\/docs(\/|$)/.test(route.url))
      route.config = { scope: 'public', rateLimit: false, ...route.config };
  });
  await app.register(swagger, {
    openapi: documentFor(version, resources),
    refResolver: { buildLocalReference: (json, _base, _fragment, i) => String(json.$id ?? `Schema${i}`) },
    transformObject: source => {
      const document = 'openapiObject' in source ? source.openapiObject : {};
      completeOperations(document.paths, app.routes, open);
      const conflicts = app.routes.flatMap(conflictsOf);
      Object.assign(document.components ?? {}, { examples: conflictExamples(conflicts) });
      Object.assign(document.components?.schemas ?? {}, schemasOfErrors(conflicts));
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
