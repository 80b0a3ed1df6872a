import type { RouteOptions } from 'fastify';
import type { OpenAPIV3_1 } from 'openapi-types';
import { serviceName, serviceTitle } from '#schemas/name.ts';
import { scopesIn } from '#src/access/need.ts';
import type { Followed } from '#src/changes/followed.ts';
import type { Conflict } from '#src/core/conflicts.ts';
import type { ErrorCode } from '#src/core/errors.ts';
import { capitalize } from '#src/core/text.ts';
import { inProgress } from '#src/records/idempotency.ts';
import { errorResponses, errorResponsesOf, ownErrors } from './errors.ts';
import { codeSamples, exampleRequest, type Operation, type Schemas } from './exampleRequest.ts';
import { headerParameters, headersFor, parameters, responseHeaders, routeFeatures } from './headers.ts';

const list = new Intl.ListFormat('en-GB');
const describeApi = (
  resources: Section[],
) => `${capitalize(list.format(resources.map(({ nouns }) => nouns)))} over REST. The same data is available over GraphQL.

- **Ids** are opaque strings. **Times** are RFC 3339 in UTC.
- **Lists** are paginated: \`data\` and \`meta\`, and a \`Link\` header. By number (\`page\`) there is a total; by cursor (\`after\` or \`before\`, empty to begin) a page costs the same at any depth. The audit log and the received events have only cursors. A filter compares for equality, or by its operator: \`status[in]=draft,published\`, \`amount[gte]=10\`, \`title[startsWith]=No\`, \`dueAt[isNull]=true\`; \`q\` searches for words.
- **Bodies and query parameters** are strict: unknown members are refused by name, never dropped.
- **Errors** all have one shape: \`{"error": {"message", "status", "details"}}\`. For invalid input \`details\` lists what is wrong and where; otherwise it holds a stable \`code\`.
- **Access**: where the service requires credentials, send \`Authorization: Bearer …\` with an API key or a token. Each operation says which scope it needs; \`write\` includes \`read\`, and \`admin\` includes both. With \`own\` a person reads what is public, and writes what is theirs.
- **Safe changes**: each record has a \`version\`, which is its \`ETag\`. Send it as \`If-Match\`, and a change that somebody else made after you read it is never overwritten. Send it as \`If-None-Match\` to read only what is new.
- **Safe retries**: send an \`Idempotency-Key\` with a \`POST\`, and repeat it until there is an answer: it takes effect once.
- **Several writes as one**: \`POST /api/batch\` does all of its writes or none, such as an order and its lines.
- Every response has an \`X-Request-Id\`, which is also in the log.
- The paths are unversioned. Before a breaking change, the same routes move under \`/api/v1\`.
`;

/** A resource in the document: its name, and what a record is. */
type Section = Pick<Followed, 'contract'> & { nouns: string };

/** What the document is about. */
export interface Described {
  version: string;
  resources: Section[];
  /** The path of a list, for examples. */
  example: string;
}

const tags = [
  { name: 'Batch', description: 'Several writes as one.' },
  { name: 'GraphQL', description: 'The same data, with exactly the fields that a query names.' },
  { name: 'Changes', description: 'What was changed, as it happens.' },
  { name: 'Webhooks', description: 'Where payment providers send their events.' },
  { name: 'Webhook events', description: 'The received events, for operators.' },
  { name: 'People', description: 'The user who signed in, and which tokens stand for whom.' },
  { name: 'Access', description: 'API keys and the audit log. Needs the scope `admin`.' },
  { name: 'Service', description: 'What the service is, and whether it is well.' },
];

const securitySchemes = {
  bearer: {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: 'API key or JWT',
    description: `An API key of this service (\`${serviceName}_…\`), or a JWT from the issuer it is configured with.`,
  },
};

export const documentFor = ({ version, resources, example }: Described) => ({
  openapi: '3.1.0',
  info: {
    title: serviceTitle,
    version,
    summary: 'One application backend: REST, GraphQL and payment webhooks over the same data.',
    description: describeApi(resources),
    license: { name: 'MIT', identifier: 'MIT' },
  } as object as OpenAPIV3_1.InfoObject,
  servers: [{ url: '/', description: 'This service' }],
  security: [],
  tags: [
    ...resources.map(({ nouns, contract: { record } }) => ({
      name: capitalize(nouns),
      description: record.description ?? '',
    })),
    ...tags,
  ],
  components: {
    headers: headersFor(example),
    parameters,
    responses: errorResponses,
    securitySchemes,
  } as object,
});

export const conflictsOf = ({ config = {} }: Pick<RouteOptions, 'config'>): readonly Conflict[] => [
  ...(config.conflicts ?? []),
  ...(config.idempotencyKey ? [inProgress] : []),
];

const needs = (scopes: string[]) =>
  scopes.length === 0 ? 'Needs no credentials.' : `Needs the scope \`${scopes.join('` or `')}\`.`;

/** Adds what every operation has: its security, its errors, examples, and the headers of its responses. */
export function completeOperation(
  operation: Operation,
  route: RouteOptions,
  schemas: Schemas,
  open: boolean,
): void {
  const { config = {} } = route;
  const { scope = 'public' } = config;
  const scopes = scope === 'public' ? [] : scopesIn(scope);
  operation.description = [operation.description, needs(scopes)].filter(Boolean).join('\n\n');
  const isGuarded = scopes.length > 0;
  const anybody = open && scope !== 'own' ? [{}] : [];
  if (isGuarded) operation.security = [...anybody, ...scopes.map(each => ({ bearer: [each] }))];
  const own = (operation.parameters ?? []) as OpenAPIV3_1.ParameterObject[];
  for (const parameter of own.filter(each => each.in === 'query')) {
    // The type requires a parameter that has a default, but a client may leave it out.
    if ('default' in (parameter.schema ?? {})) delete parameter.required;
    // Values are separated by commas, not by repeating the parameter.
    if ('items' in (parameter.schema ?? {})) Object.assign(parameter, { style: 'form', explode: false });
    // The page would send the example as a filter, and find nothing.
    if (!parameter.required) delete parameter.example;
  }
  const isList = own.some(({ name }) => name === 'limit');
  const features = routeFeatures(route, isList);
  operation.parameters = [...own, ...headerParameters(features)];
  if (features.cached) operation.responses[304] = { description: 'The client has it already.' };
  if (features.minimal) operation.responses[204] = { description: 'Done, with `Prefer: return=minimal`.' };
  for (const [status, response] of Object.entries(operation.responses))
    Object.assign(response, { headers: responseHeaders(status, features) });
  const hasBody = operation.requestBody !== undefined;
  const codes: ErrorCode[] = ['invalid', 'headers_too_large', 'internal', 'unavailable'];
  if (isGuarded) codes.push('unauthenticated', 'forbidden');
  if (config.record || own.some(each => each.in === 'path')) codes.push('not_found');
  if (hasBody) codes.push('timeout', 'too_large');
  if (hasBody && config.transport !== 'webhook') codes.push('unsupported_media_type');
  if (own.some(({ name }) => name === 'last-event-id')) codes.push('gone');
  if (features.mayExclude) codes.push('version_mismatch');
  if (features.repeatable) codes.push('idempotency_key_reused');
  if (features.isLimited) codes.push('rate_limited');
  const request = exampleRequest(route, operation, schemas);
  operation['x-codeSamples'] ??= codeSamples(request, isGuarded && !open);
  // The route's own responses take precedence: errors of GraphQL and webhooks have another shape.
  operation.responses = {
    ...errorResponsesOf(codes, conflictsOf(route)),
    ...ownErrors(request, codes.includes('not_found') ? config.record : undefined),
    ...operation.responses,
  };
}
