import swagger from '@fastify/swagger';
import swaggerUi from '@fastify/swagger-ui';
import type { RouteOptions } from 'fastify';
import fp from 'fastify-plugin';
import type { OpenAPIV3_1 } from 'openapi-types';
import { type ErrorCode, statusOf } from '../../src/core/errors.ts';
import { errorResponses, errorsOf, headers, headersOf, nameOf, securitySchemes } from './parts.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The errors of this route, besides those that every route can give. */
    errors?: ErrorCode[];
    /** The body may be called what one likes. */
    anyMediaType?: true;
  }
}

type Operation = Omit<OpenAPIV3_1.OperationObject, 'responses'> & { responses: Record<string, object> };

/** The OpenAPI document, made from the routes, and the page to read and try it. */
export const docs = fp<{ version: string; open: boolean }>(async (app, { version, open }) => {
  const routes = new Map<string, RouteOptions>();
  app.addHook('onRoute', route => {
    // The page and the document are for everybody, as often as they like.
    if (/^\/docs(\/|$)/.test(route.url))
      route.config = { scope: 'public', rateLimit: false, ...route.config };
    for (const method of [route.method].flat()) routes.set(`${method} ${route.url}`, route);
  });

  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Triport',
        version,
        summary: 'One application backend with three doors on the same data.',
        description: about,
        license: { name: 'MIT', identifier: 'MIT' },
      } as object as OpenAPIV3_1.InfoObject,
      servers: [{ url: '/', description: 'This service' }],
      security: [],
      tags: [
        { name: 'Users', description: 'People who write posts.' },
        { name: 'Posts', description: 'What users write.' },
        { name: 'GraphQL', description: 'The same data, with exactly the fields that a query names.' },
        { name: 'Subscriptions', description: 'What customers have paid for. Webhooks write them.' },
        { name: 'Webhooks', description: 'Where payment providers send their events.' },
        { name: 'Webhook events', description: 'The received events, for the operator.' },
        { name: 'Access', description: 'Who may do what, and who did. Needs the scope `admin`.' },
        { name: 'Service', description: 'What the service is and how it is.' },
      ],
      components: { headers, responses: errorResponses, securitySchemes } as object,
    },
    refResolver: { buildLocalReference: (json, _base, _fragment, i) => String(json.$id ?? `Schema${i}`) },
    transformObject: source => {
      const document = ('openapiObject' in source ? source.openapiObject : {}) as OpenAPIV3_1.Document;
      for (const [path, item] of Object.entries(document.paths ?? {}))
        for (const [method, operation] of Object.entries(item ?? {}))
          complete(
            operation as Operation,
            routes.get(`${method.toUpperCase()} ${path.replace(/\{(\w+)\}/g, ':$1')}`),
            open,
          );
      // Parts that are shared as objects would become anchors and aliases in YAML, which few people can read.
      return JSON.parse(JSON.stringify(document));
    },
  });

  await app.register(swaggerUi, {
    routePrefix: '/docs',
    // Its own policy would forbid the inline styles that the page itself uses.
    staticCSP:
      "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self' data:; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    uiConfig: {
      docExpansion: 'list',
      displayRequestDuration: true,
      validatorUrl: null,
      layout: 'BaseLayout',
    },
    theme: { title: 'Triport API' },
  });
});

/** Adds what every operation has: its errors, and the headers of its replies. */
function complete(operation: Operation, route: RouteOptions | undefined, open: boolean): void {
  const scope = route?.config?.scope;
  const guarded = scope !== undefined && scope !== 'public';
  if (guarded) operation.security = [...(open ? [{}] : []), { bearer: [scope] }];
  const limited = route?.config?.rateLimit !== false;
  const parameters = (operation.parameters ?? []) as OpenAPIV3_1.ParameterObject[];
  for (const parameter of parameters.filter(each => each.in === 'query')) {
    // The service sees a value in any case, the client need not send one.
    delete parameter.required;
    // The page would send the example as a filter, and find nothing.
    delete parameter.example;
  }
  const isList = parameters.some(({ name }) => name === 'limit');
  for (const [status, response] of Object.entries(operation.responses))
    Object.assign(response, { headers: headersOf(status, isList, limited) });
  const own = route?.config?.errors ?? [];
  // What a route says itself goes before: GraphQL and webhooks have errors of another shape.
  const hasBody = operation.requestBody !== undefined;
  const typed = hasBody && !route?.config?.anyMediaType;
  for (const code of errorsOf({ hasBody, typed, limited, guarded, own }))
    operation.responses[statusOf[code]] ??= { $ref: `#/components/responses/${nameOf(code)}` };
}

const about = `Users and posts over REST. The same data is one GraphQL endpoint away.

- **Ids** are opaque strings. **Times** are RFC 3339 in UTC.
- **Lists** are pages: \`data\` and \`meta\`, and a \`Link\` header. The audit log and the received events go by cursor. Filters compare for equality.
- **Bodies and query parameters** are strict: what is not known is refused by name, never dropped.
- **Errors** all look alike: \`{"error": {"message", "status", "details"}}\`. For invalid input \`details\` lists what is wrong and where; otherwise it holds a stable \`code\`.
- **Access**: where the service asks for credentials, send \`Authorization: Bearer …\` with an API key or a token. Each operation names the scope it needs; \`write\` includes \`read\`, \`admin\` includes both.
- Every reply has an \`X-Request-Id\`; the log knows it.
- The paths are unversioned. When a breaking change is planned, the same routes move under \`/api/v1\`.
`;
