import { join } from 'node:path';
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import websocket from '@fastify/websocket';
import type { TSchema } from '@sinclair/typebox';
import type { FastifyRequest } from 'fastify';
import { discardBody } from '#plugins/http/errors.ts';
import { routesOf } from '#plugins/http/routes.ts';
import { isWebSocket } from '#plugins/http/streams.ts';
import { escapeHtml, packageFile, servePage, wantsPage } from '#plugins/pages/assets.ts';
import { serviceTitle } from '#schemas/name.ts';
import { ref } from '#schemas/parts/common.ts';
import {
  GraphQLErrors,
  graphqlQuery,
  graphqlRequest,
  graphqlResult,
  mediaTypes,
} from '#schemas/service/graphql.ts';
import { splitList } from '#src/config/urls.ts';
import { AppError } from '#src/core/errors.ts';
import { onFirstUse } from '#src/core/kept.ts';
import { readTrustedDocuments } from './documents/trusted.ts';
import type { Examples } from './examples.ts';
import type { Options } from './execution/endpoint.ts';

const route = routesOf('GraphQL');
const as = (schema: TSchema, description: string) => {
  const media = { schema: ref(schema) };
  return { description, content: Object.fromEntries(mediaTypes.map(type => [type, media])) };
};
const resultSchema = (schema: TSchema) =>
  as(schema, 'The result. With `application/json` also the refusal of a document: then there is no `data`.');
const refusal = as(GraphQLErrors, 'Nothing was changed; `errors` says why.');
const refusals = (...statuses: number[]) => Object.fromEntries(statuses.map(status => [status, refusal]));

const protocol = 'graphql-transport-ws';

/** The page of GraphiQL, the tool in the browser. */
const toolPage = {
  title: `${serviceTitle} GraphQL`,
  body: '',
  // GraphiQL 3 is the last with a browser bundle; it needs React 18.
  libraries: [
    packageFile('graphiql', 'graphiql.min.css'),
    packageFile('react', 'umd/react.production.min.js'),
    packageFile('react-dom', 'umd/react-dom.production.min.js'),
    packageFile('graphiql', 'graphiql.min.js'),
  ],
  shared: ['key.js', 'repair.js'],
  folder: join(import.meta.dirname, 'tool'),
};

const postRoute = (request: ReturnType<typeof graphqlRequest>, result: ReturnType<typeof resultSchema>) => ({
  ...route('postGraphQL', 'Run a query or a mutation', 'read or own', {
    config: { transport: 'graphql', idempotencyKey: true },
    description:
      'The schema is in `schema.graphql` and, for a browser, in the tool at this path. A subscription needs `Accept: text/event-stream`; its results are events named `next`.',
    body: ref(request),
    response: { 200: result, ...refusals(400, 401, 403, 409, 413, 415, 422, 429, 500, 503) },
  }),
  preValidation: async ({ body }: FastifyRequest) => {
    if (Array.isArray(body))
      throw new AppError('bad_request', 'Batches are not supported. Send one operation in each request.');
  },
});

/** Whether there is a tool in the browser: it needs introspection, and sends what it likes. */
export const hasTool = ({ GRAPHQL_INTROSPECTION, GRAPHQL_TRUSTED_DOCUMENTS }: Options['settings']) =>
  GRAPHQL_INTROSPECTION === 'on' && GRAPHQL_TRUSTED_DOCUMENTS === undefined;

/** The endpoint, and the browser tool with these examples. */
export const graphql: FastifyPluginAsyncTypebox<Options & { examples: Examples }> = async (app, options) => {
  const { settings, examples } = options;
  const result = resultSchema(graphqlResult(examples.data));
  const { GRAPHQL_TRUSTED_DOCUMENTS: path } = settings;
  const origins = splitList(settings.CORS_ORIGINS);
  const trusted = path === undefined ? undefined : readTrustedDocuments(path);
  // A process that nobody asks for GraphQL loads none of its 160 modules. A start does not notice a mistake in the
  // schema, but `npm run generate` and every test of GraphQL do.
  const endpoint = onFirstUse(async () =>
    (await import('./execution/endpoint.ts')).openEndpoint(options, trusted),
  );
  app.setErrorHandler(async (error, request, reply) => {
    await discardBody(request, reply);
    return (await endpoint()).sendFailure(error, request, reply);
  });
  await app.register(websocket, {
    options: {
      maxPayload: app.initialConfig.bodyLimit,
      // A fragment of a few bytes may keep the whole chunk of 64 KB in memory that it arrived in.
      maxFragments: 16,
      handleProtocols: offered => offered.has(protocol) && protocol,
    },
    // The errors are those of clients, such as an invalid frame.
    errorHandler: (error, socket, request) => {
      request.log.debug({ err: error }, 'A WebSocket failed.');
      socket.terminate();
    },
    // The default closes all sockets. The streams end first, and close their sockets themselves.
    preClose(done) {
      this.websocketServer.close();
      done();
    },
  });
  const sockets = onFirstUse(async () =>
    (await import('./execution/sockets.ts')).openSockets(await endpoint()),
  );
  const tool = hasTool(settings) && servePage(app, '/graphql/tool', toolPage);
  const toolBody = onFirstUse(async () => {
    const { parse, print } = await import('graphql');
    const tabs = examples.tabs.map(({ comment, query, ...rest }) => ({
      query: `# ${comment}\n${print(parse(query))}\n`,
      ...rest,
    }));
    const data = escapeHtml(JSON.stringify(tabs));
    return `<main><h1>GraphQL</h1><div id="tool" data-tabs="${data}"></div></main>`;
  });
  const asksForTool = ({ query, headers }: FastifyRequest) =>
    tool !== false && !('query' in (query as object)) && wantsPage(headers.accept);

  app.post('/graphql', postRoute(graphqlRequest(examples.query), result), async (request, reply) => {
    const { body } = request;
    return (await endpoint()).answer(request, reply, body);
  });
  const getRoute = route('getGraphQL', 'Run a query', 'read or own', {
    // The page itself is public, and a WebSocket brings credentials later.
    config: {
      transport: 'graphql',
      publicWhen: request => asksForTool(request) || isWebSocket(request.raw),
    },
    description:
      'The same as by POST. Without `query`, a browser gets the interactive tool. With `Upgrade: websocket`, the protocol `graphql-transport-ws` for subscriptions.',
    querystring: graphqlQuery(examples.query),
    response: { 200: result, ...refusals(400, 401, 403, 405, 429, 500, 503) },
  });
  app.route({
    method: 'GET',
    url: '/graphql',
    ...getRoute,
    handler: async (request, reply) => {
      if (tool && asksForTool(request)) return tool(reply, await toolBody());
      const { answer, fromQuery } = await endpoint();
      return answer(request, reply, fromQuery(request.query));
    },
    preValidation: async request => {
      if (!isWebSocket(request.raw)) return;
      // Browsers send no preflight for a WebSocket to another origin.
      const { origin = '' } = request.headers;
      const isKnown = origin === '' || origins.includes('*') || origins.includes(origin);
      if (!isKnown && URL.parse(origin)?.host !== request.host)
        throw new AppError('forbidden', 'CORS_ORIGINS does not name this origin.');
      // Loads the code before the socket opens: its first message would come before anything listens.
      await sockets();
    },
    wsHandler: async (socket, request) => (await sockets())(socket, request),
  });
};
