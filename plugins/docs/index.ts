import swagger from '@fastify/swagger';
import swaggerUi from '@fastify/swagger-ui';
import type { RouteOptions } from 'fastify';
import fp from 'fastify-plugin';
import type { OpenAPIV3_1 } from 'openapi-types';
import type { Conflict } from '../../src/core/conflicts.ts';
import { toolPolicy } from '../http/headers.ts';
import { sendTagged } from '../pages/assets.ts';
import { completeOperation, conflictsOf, documentFor, type Section } from './document.ts';
import { conflictExamples, schemasOfErrors } from './errors.ts';
import type { Operation, Schemas } from './exampleRequest.ts';
import { makePage } from './page/index.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The codes of 409 that the document shows; the services throw them. */
    conflicts?: readonly Conflict[];
    anyMediaType?: true;
    /** For a record with a version. */
    versioned?: true;
    /** What a 404 says that there is none of. */
    record?: string;
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
      completeOperations(document as OpenAPIV3_1.Document, app.routes, open);
      const conflicts = app.routes.flatMap(conflictsOf);
      Object.assign(document.components ?? {}, { examples: conflictExamples(conflicts) });
      Object.assign(document.components?.schemas ?? {}, schemasOfErrors(conflicts));
      // Without shared objects: YAML would refer to them by anchors, which are hard to read.
      return JSON.parse(JSON.stringify(document, withoutOwnKeywords));
    },
  });
  const sendPage = await makePage(app);
  const sendJson = sendTagged(async () => Buffer.from(`${JSON.stringify(app.swagger())}\n`));
  const sendYaml = sendTagged(async () => Buffer.from(app.swagger({ yaml: true })));
  await app.register(swaggerUi, {
    routePrefix: '/docs',
    staticCSP: toolPolicy,
    uiHooks: {
      // The plugin's own page fits no phone, and its files are sent anew each time.
      onRequest: async (request, reply) => {
        const { url = '' } = request.routeOptions;
        if (/^\/docs\/?$/.test(url)) return sendPage(reply);
        if (url === '/docs/json') return sendJson(request, reply.type('application/json; charset=utf-8'));
        if (url === '/docs/yaml') return sendYaml(request, reply.type('application/x-yaml'));
      },
    },
  });
});

/** The words for a pattern are a keyword of ours, which no reader of the document knows. */
const withoutOwnKeywords = (name: string, value: unknown) => (name === 'patternMessage' ? undefined : value);

function completeOperations(
  { paths, components }: OpenAPIV3_1.Document,
  routes: readonly RouteOptions[],
  open: boolean,
): void {
  const schemas = { ...components?.schemas } as Schemas;
  for (const [path, item] of Object.entries({ ...paths } as Record<string, Record<string, Operation>>))
    for (const [method, operation] of Object.entries(item)) {
      const url = path.replace(/\{(\w+)\}/g, ':$1');
      const route = routes.find(each => each.url === url && each.method === method.toUpperCase());
      if (route) completeOperation(operation, route, { path, method, schemas, open });
    }
}
