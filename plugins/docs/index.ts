import { join } from 'node:path';
import { type FastifyInstance, fastify } from 'fastify';
import fp from 'fastify-plugin';
import { makeSender, packageFile, servePage } from '#plugins/pages/assets.ts';
import { serviceTitle } from '#schemas/name.ts';
import { componentsIn, ref } from '#schemas/parts/common.ts';
import { ErrorEnvelope } from '#schemas/parts/error.ts';
import type { Conflict } from '#src/core/conflicts.ts';
import { onFirstUse } from '#src/core/kept.ts';
import { completeOperation, conflictsOf, type Described, documentFor } from './document.ts';
import { conflictExamples, errorSchemas } from './errors.ts';
import { type Operation, type Schemas, templatePath } from './exampleRequest.ts';

declare module 'fastify' {
  interface FastifyInstance {
    /** The application whose `swagger()` writes the document. */
    documentWriter: () => Promise<Pick<FastifyInstance, 'swagger'>>;
  }
  interface FastifyContextConfig {
    /** The 409s that the document shows for this route; the services throw them. */
    conflicts?: readonly Conflict[];
    /** Whether the route reads or writes a record that has a version. */
    versioned?: true;
    /** The kind of record that a 404 says was not found. */
    record?: string;
  }
}

interface Options extends Described {
  /** Whether callers need no credentials. */
  open: boolean;
}

/** The OpenAPI document, generated from the routes, and the page to read and try it. */
export const docs = fp<Options>(async (app, options) => {
  app.decorate(
    'documentWriter',
    onFirstUse(() => openWriter(app, options)),
  );
  const write = async (yaml: boolean) => (await app.documentWriter()).swagger({ yaml });
  const sendJson = makeSender(async () => Buffer.from(`${JSON.stringify(await write(false))}\n`));
  const sendYaml = makeSender(async () => Buffer.from(String(await write(true))));
  const libraries = ['swagger-ui.css', 'swagger-ui-bundle.js'];
  const sendPage = servePage(app, '/docs/page', {
    title: `${serviceTitle} API`,
    body: '<div id="page"></div>',
    libraries: libraries.map(name => packageFile('@fastify/swagger-ui', `static/${name}`)),
    shared: ['repair.js'],
    folder: join(import.meta.dirname, 'page'),
  });
  const route = { config: { scope: 'public', rateLimit: false }, schema: { hide: true } } as const;
  for (const path of ['/docs', '/docs/']) app.get(path, route, async (_request, reply) => sendPage(reply));
  app.get('/docs/json', route, async (request, reply) =>
    sendJson(request, reply.type('application/json; charset=utf-8')),
  );
  app.get('/docs/yaml', route, async (request, reply) => sendYaml(request, reply.type('application/x-yaml')));
});

/**
 * Makes the generator, in an application of its own, when the document is first asked for. Few processes are asked, and
 * the generator keeps a hundred modules and a copy of all schemas.
 */
async function openWriter(app: FastifyInstance, { open, ...described }: Options) {
  const { default: swagger } = await import('@fastify/swagger');
  const writer = fastify({ exposeHeadRoutes: false });
  writer.setValidatorCompiler(() => () => true);
  writer.setSerializerCompiler(() => String);
  await writer.register(swagger, {
    openapi: documentFor(described),
    refResolver: { buildLocalReference: (json, _base, _fragment, i) => String(json.$id ?? `Schema${i}`) },
    transformObject: source => {
      const document = 'openapiObject' in source ? source.openapiObject : {};
      const paths = document.paths as Record<string, Record<string, Operation>>;
      const schemas = { ...document.components?.schemas } as Schemas;
      for (const route of app.routes) {
        const operation = paths[templatePath(route)]?.[String(route.method).toLowerCase()];
        if (operation) completeOperation(operation, route, schemas, open);
      }
      const conflicts = app.routes.flatMap(conflictsOf);
      Object.assign(document.components ?? {}, { examples: conflictExamples(conflicts) });
      Object.assign(document.components?.schemas ?? {}, errorSchemas(conflicts));
      // Copies shared objects: YAML would refer to them by anchors, which are hard to read.
      return JSON.parse(JSON.stringify(document, withoutOwnKeywords));
    },
  });
  const routes = app.routes.filter(({ schema, method }) => !schema?.hide && method !== 'HEAD');
  const components = componentsIn([ref(ErrorEnvelope), ...routes.map(({ schema }) => schema ?? {})]);
  for (const name of [...components.keys()].sort()) writer.addSchema(components.get(name));
  for (const route of routes) writer.route(route);
  await writer.ready();
  return writer;
}

/** Leaves out `patternMessage`, a keyword of ours that no reader of the document knows. */
const withoutOwnKeywords = (name: string, value: unknown) => (name === 'patternMessage' ? undefined : value);
