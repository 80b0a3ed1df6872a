import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import type { FastifyRequest } from 'fastify';
import { ref } from '../../schemas/common.ts';
import { GraphQLErrors, GraphQLQuery, GraphQLRequest, GraphQLResult } from '../../schemas/graphql.ts';
import { AppError, type ErrorCode, statusOf } from '../../src/core/errors.ts';
import { onFirstUse } from '../../src/core/kept.ts';
import { inProgress } from '../../src/services/idempotency.ts';
import { messageOf } from '../docs/errors.ts';
import { wantsPage } from '../http/headers.ts';
import { routesOf } from '../http/routes.ts';
import { extensionsOf, mediaTypes } from './codes.ts';
import { readTrustedDocuments } from './documents/trusted.ts';
import type { Options } from './execution/endpoint.ts';
import { makeTool } from './tool/index.ts';

const route = routesOf('GraphQL');
const as = (schema: typeof GraphQLResult | typeof GraphQLErrors, description: string, example?: object) => ({
  description,
  content: Object.fromEntries(
    mediaTypes.map(type => [
      type,
      { schema: ref(schema as typeof GraphQLResult), ...(example && { example }) },
    ]),
  ),
});
const result = as(
  GraphQLResult,
  'The result. With `application/json` also the refusal of a document: then there is no `data`.',
);
const requestId = '0b4c1f9e-8f43-4f0e-9d0b-6a3f9a0e7d11';
const refused = (code: string, message: string) =>
  as(GraphQLErrors, 'Nothing was changed; `errors` says why.', {
    errors: [{ message, extensions: { code, requestId } }],
  });
/** The refusals with these codes of REST. */
const refusalsOf = (...codes: ErrorCode[]) =>
  Object.fromEntries(
    codes.map(code => [statusOf[code], refused(extensionsOf(new AppError(code, '')).code, messageOf(code))]),
  );
const refusals = {
  ...refusalsOf('unauthenticated', 'forbidden', 'rate_limited', 'internal', 'unavailable'),
  400: refused('GRAPHQL_VALIDATION_FAILED', 'Cannot query field "nmae" on type "User". Did you mean "name"?'),
};
const refusalsOfBodies = {
  ...refusalsOf('too_large', 'unsupported_media_type', 'idempotency_key_reused'),
  409: refused('IDEMPOTENCY_IN_PROGRESS', inProgress.error().message),
};

const post = {
  ...route('postGraphQL', 'Run a query or a mutation', 'read or own', {
    config: { transport: 'graphql', idempotencyKey: 'accepted' },
    description: 'The schema is in `schema.graphql` and, for a browser, in the tool at this path.',
    body: ref(GraphQLRequest),
    response: { 200: result, ...refusals, ...refusalsOfBodies },
  }),
  preValidation: async ({ body }: FastifyRequest) => {
    if (Array.isArray(body))
      throw new AppError('bad_request', 'Batches are not supported. Send one operation in each request.');
  },
};

export const graphql: FastifyPluginAsyncTypebox<Options> = async (app, options) => {
  const { settings } = options;
  const { GRAPHQL_TRUSTED_DOCUMENTS: path } = settings;
  const trusted = path === undefined ? undefined : readTrustedDocuments(path);
  // A process that nobody asks for GraphQL loads none of its 160 modules. `npm run generate` and every test of
  // GraphQL find a mistake in the schema.
  const endpoint = onFirstUse(async () =>
    (await import('./execution/endpoint.ts')).openEndpoint(options, trusted),
  );
  app.setErrorHandler(async (error, request, reply) => (await endpoint()).sendFailure(error, request, reply));
  const hasTool = settings.GRAPHQL_INTROSPECTION === 'on' && trusted === undefined;
  const tool = hasTool && makeTool(app);
  const asksForTool = ({ query, headers }: FastifyRequest) =>
    tool !== false && !('query' in (query as object)) && wantsPage(headers.accept);

  app.post('/graphql', post, async (request, reply) => {
    const { body } = request;
    return (await endpoint()).answer(request, reply, body);
  });
  app.get(
    '/graphql',
    route('getGraphQL', 'Run a query', 'read or own', {
      // The page itself is public; the queries it sends need credentials.
      config: { transport: 'graphql', publicWhen: asksForTool },
      description: 'The same as by POST. Without `query`, a browser gets the interactive tool.',
      querystring: GraphQLQuery,
      response: {
        200: result,
        ...refusals,
        405: refused('METHOD_NOT_ALLOWED', 'A mutation must be sent by POST.'),
      },
    }),
    async (request, reply) => {
      if (tool && asksForTool(request)) return tool(reply);
      const { answer, fromQuery } = await endpoint();
      return answer(request, reply, fromQuery(request.query));
    },
  );
};
