import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { OperationTypeNode, printSchema } from 'graphql';
import { ref } from '../../schemas/common.ts';
import { GraphQLErrors, GraphQLQuery, GraphQLRequest, GraphQLResult } from '../../schemas/graphql.ts';
import type { Settings } from '../../schemas/settings.ts';
import { AppError } from '../../src/core/errors.ts';
import type { Metrics } from '../../src/telemetry/metrics.ts';
import { makeReader, type Watch } from './documents.ts';
import { openExecutor } from './executor.ts';
import { fromQuery, mediaTypes, sendFailure, sendOutcome, wantsPage } from './http.ts';
import { keepTexts, trustTexts } from './persisted.ts';
import { holdLimits, priceOf } from './queryLimits.ts';
import { makeSchema } from './sdl.ts';
import { makeTool } from './tool/index.ts';

/** Of a document. */
const mostCharacters = 50_000;
const tags = ['GraphQL'];
const as = (schema: typeof GraphQLResult | typeof GraphQLErrors, description: string) => ({
  description,
  content: Object.fromEntries(
    mediaTypes.map(type => [type, { schema: ref(schema as typeof GraphQLResult) }]),
  ),
});
const refused = as(GraphQLErrors, 'Nothing ran; `errors` says why.');
const response = {
  200: as(
    GraphQLResult,
    'The result. With `application/json` also the refusal of a document: then there is no `data`.',
  ),
  400: refused,
  401: refused,
  403: refused,
  429: refused,
  500: refused,
  503: refused,
};

/** The GraphQL door: one endpoint, by POST and GET, and the browser tool at the same path. */
export const graphql: FastifyPluginAsyncTypebox<{ settings: Settings; metrics: Metrics }> = async (
  app,
  { settings, metrics },
) => {
  app.setErrorHandler(sendFailure);
  const { schema, run } = await openExecutor(app, settings);
  const limits = {
    depth: settings.GRAPHQL_MAX_DEPTH,
    aliases: settings.GRAPHQL_MAX_ALIASES,
    nodes: settings.GRAPHQL_MAX_NODES,
    cost: settings.GRAPHQL_MAX_COST,
  };
  const watch: Watch = (name, size) => metrics.watchCache(name, size);
  const size = { length: mostCharacters, tokens: settings.GRAPHQL_MAX_TOKENS };
  const read = makeReader(size, watch);
  const trusted = settings.GRAPHQL_TRUSTED_DOCUMENTS;
  const texts = trusted === undefined ? keepTexts(watch) : trustTexts(trusted);
  const tool = settings.GRAPHQL_INTROSPECTION === 'on' && trusted === undefined && (await makeTool(app));

  const asksForTool = ({ query, headers }: FastifyRequest) =>
    tool !== false && !('query' in (query as object)) && wantsPage(headers.accept);

  async function answer(request: FastifyRequest, reply: FastifyReply, asked: GraphQLRequest) {
    const { readingContext } = request;
    const operation = read(texts.find(asked), asked.operationName || undefined);
    const isQuery = operation.definition.operation === OperationTypeNode.QUERY;
    if (request.method !== 'POST' && !isQuery) {
      reply.header('allow', 'POST');
      throw new AppError('method_not_allowed', 'A mutation must be sent by POST.');
    }
    // Without a prototype: a compiled query took its `toString` for the value of `$toString`.
    const variables: Record<string, unknown> = Object.assign(Object.create(null), asked.variables);
    const price = holdLimits(schema, operation, variables, limits);
    // The request itself was counted when it came.
    if (price > 1) await request.charge(reply, price - 1);
    texts.keep(asked);
    const context = isQuery ? readingContext : request.context;
    const { read: records, ...outcome } = await run(context, operation, variables, () => reply.sent);
    // A list can be longer than was guessed. What was read is paid for, and what is ready is sent.
    const more = priceOf(records) - price;
    if (more > 0) await request.charge(reply, more, { refuse: false });
    return sendOutcome(request, reply, outcome);
  }

  app.post(
    '/graphql',
    {
      config: { scope: 'read', door: 'graphql' },
      preValidation: async ({ body }) => {
        if (Array.isArray(body))
          throw new AppError('bad_request', 'Batches are not taken. Send one operation in each request.');
      },
      schema: {
        tags,
        operationId: 'postGraphQL',
        summary: 'Run a query or a mutation',
        description: 'The schema is in `schema.graphql` and, for a browser, in the tool at this path.',
        body: ref(GraphQLRequest),
        response: { ...response, 413: refused, 415: refused },
      },
    },
    async (request, reply) => answer(request, reply, request.body),
  );
  app.get(
    '/graphql',
    {
      // The tool is a page like any other. What is asked with it needs credentials.
      config: { scope: 'read', door: 'graphql', publicWhen: asksForTool },
      schema: {
        tags,
        operationId: 'getGraphQL',
        summary: 'Run a query',
        description: 'The same as by POST. Without `query`, a browser gets the interactive tool.',
        querystring: GraphQLQuery,
        response: { ...response, 405: refused },
      },
    },
    async (request, reply) => {
      if (tool && asksForTool(request)) return tool(reply);
      return answer(request, reply, fromQuery(request.query));
    },
  );
};

/** The schema as text, for schema.graphql and for tools. */
export const schemaText = () => `${printSchema(makeSchema())}\n`;
