import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { OperationTypeNode } from 'graphql';
import { ref } from '../../schemas/common.ts';
import { GraphQLErrors, GraphQLQuery, GraphQLRequest, GraphQLResult } from '../../schemas/graphql.ts';
import type { Settings } from '../../schemas/settings.ts';
import type { Context } from '../../src/core/context.ts';
import { AppError, type ErrorCode, statusOf } from '../../src/core/errors.ts';
import { inProgress } from '../../src/services/idempotency.ts';
import type { Metrics } from '../../src/telemetry/metrics.ts';
import { messageOf } from '../docs/errors.ts';
import { wantsPage } from '../http/headers.ts';
import { routesOf } from '../http/routes.ts';
import { automaticDocuments, trustedDocuments } from './documents/persisted.ts';
import { makeReader } from './documents/reader.ts';
import { extensionsOf } from './errors.ts';
import { openExecutor } from './executor.ts';
import { fromQuery, mediaTypes, sendBody, sendFailure } from './http.ts';
import { answerOf, answerOnce } from './idempotency.ts';
import { maximumsOf } from './limits/maximums.ts';
import { checkQueryLimits, priceOf } from './limits/queryLimits.ts';
import { checkVariables } from './limits/variables.ts';
import type { SchemaPart } from './schema.ts';
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
  ...route('postGraphQL', 'Run a query or a mutation', 'read', {
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

interface Options {
  settings: Settings;
  metrics: Metrics;
  parts: SchemaPart[];
}

export const graphql: FastifyPluginAsyncTypebox<Options> = async (app, options) => {
  const { settings } = options;
  app.setErrorHandler(sendFailure);
  const answer = await openEndpoint(app, options);
  const hasTool = settings.GRAPHQL_INTROSPECTION === 'on' && settings.GRAPHQL_TRUSTED_DOCUMENTS === undefined;
  const tool = hasTool && (await makeTool(app));
  const asksForTool = ({ query, headers }: FastifyRequest) =>
    tool !== false && !('query' in (query as object)) && wantsPage(headers.accept);

  app.post('/graphql', post, async (request, reply) => answer(request, reply, request.body));
  app.get(
    '/graphql',
    route('getGraphQL', 'Run a query', 'read', {
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
    async (request, reply) =>
      tool && asksForTool(request) ? tool(reply) : answer(request, reply, fromQuery(request.query)),
  );
};

/**
 * Returns the function that answers a request: it reads the document, checks the limits, runs it and charges for it.
 */
async function openEndpoint(app: FastifyInstance, { settings, metrics, parts }: Options) {
  const { schema, run } = await openExecutor(app, settings, parts);
  const maximums = maximumsOf(settings);
  const read = makeReader(maximums.tokens, metrics);
  const trusted = settings.GRAPHQL_TRUSTED_DOCUMENTS;
  const documents = trusted === undefined ? automaticDocuments(metrics) : trustedDocuments(trusted);

  return async (request: FastifyRequest, reply: FastifyReply, body: GraphQLRequest) => {
    const { readingContext } = request;
    const text = documents.find(body);
    const operation = read(text, body.operationName || undefined);
    const isQuery = operation.definition.operation === OperationTypeNode.QUERY;
    if (request.method !== 'POST' && !isQuery) {
      reply.header('allow', 'POST');
      throw new AppError('method_not_allowed', 'A mutation must be sent by POST.');
    }
    const variables = body.variables ?? {};
    checkVariables(variables);
    const price = checkQueryLimits({ schema, operation, variables, maximums });
    if (price > 1) await request.charge(reply, price - 1);
    documents.keep(body, text);
    const runIn = (context: Context) => run(context, operation, variables);
    const keyed = isQuery ? undefined : request.keyed;
    const answer = keyed
      ? await answerOnce(request, keyed, operation, runIn)
      : answerOf(request, await runIn(isQuery ? readingContext : request.context));
    // A list was longer than estimated: the caller is charged for it and still gets the result.
    const more = priceOf(answer.records) - price;
    if (more > 0) await request.charge(reply, more, { refuse: false });
    if (answer.replayed) reply.header('idempotency-replayed', 'true');
    if (answer.retryAfter !== undefined) reply.header('retry-after', answer.retryAfter);
    return sendBody(reply, answer.body);
  };
}
