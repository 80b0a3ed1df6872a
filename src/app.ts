import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerOptions } from 'node:http';
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import { fastify, LogController } from 'fastify';
import manifest from '#package.json' with { type: 'json' };
import { operatorConsole } from '#plugins/console/index.ts';
import { docs } from '#plugins/docs/index.ts';
import { exampleOperations } from '#plugins/graphql/examples.ts';
import { graphql, hasTool } from '#plugins/graphql/index.ts';
import { health } from '#plugins/health.ts';
import { home, pages } from '#plugins/home/index.ts';
import connections from '#plugins/http/admission/connections.ts';
import gate from '#plugins/http/admission/gate.ts';
import identity from '#plugins/http/admission/identity.ts';
import limits from '#plugins/http/admission/limits.ts';
import pressure from '#plugins/http/admission/pressure.ts';
import contexts from '#plugins/http/context.ts';
import cors from '#plugins/http/cors.ts';
import { answerBadPath, answerBrokenHttp, sendError } from '#plugins/http/errors.ts';
import headers from '#plugins/http/headers.ts';
import logging from '#plugins/http/logging.ts';
import methods, { refuseOtherMethods } from '#plugins/http/methods.ts';
import proxies from '#plugins/http/proxies.ts';
import parsing from '#plugins/http/requests/parsing.ts';
import routing from '#plugins/http/routes.ts';
import streams, { acceptUpgrade } from '#plugins/http/streams.ts';
import tracing from '#plugins/http/tracing.ts';
import { metricsRoute } from '#plugins/metrics.ts';
import { accessRoutes } from '#plugins/rest/access.ts';
import { batchRoute } from '#plugins/rest/batch.ts';
import { changeRoutes } from '#plugins/rest/changes.ts';
import { eventRoutes } from '#plugins/rest/events.ts';
import { overviewRoute } from '#plugins/rest/overview.ts';
import { webhooks } from '#plugins/webhooks.ts';
import { componentsIn } from '#schemas/parts/common.ts';
import type { Settings } from '#schemas/settings.ts';
import { openCredentials } from './access/credentials/credentials.ts';
import { openRateLimits } from './access/limits/rateLimits.ts';
import { makeFeed } from './changes/feed.ts';
import { arrivalTimeout, socketTimeout } from './config/timeouts.ts';
import { trustedProxies } from './config/trustedProxies.ts';
import { splitList } from './config/urls.ts';
import type { Database } from './database/database.ts';
import { domain as ours } from './domain/index.ts';
import { openEffects } from './effects/effect.ts';
import { refuseWrongJobs } from './jobs.ts';
import { refuseSameNames, refuseTakenNames, refuseTakenPath } from './records/names.ts';
import type { Log } from './telemetry/log.ts';
import { Metrics } from './telemetry/metrics.ts';
import { isTracing } from './telemetry/tracing.ts';
import { type Calls, openCalls } from './webhooks/calls.ts';

interface AppDependencies {
  settings: Settings;
  database: Database;
  calls?: Calls;
  log: Log;
  metrics?: Metrics;
  domain?: typeof ours;
  now?: () => Date;
  /** Whether this process is about to end, and balancers should turn to others. */
  leaving?: () => boolean;
  /** The delay of the event loop above which requests are refused, in milliseconds. Busy tests need a higher one. */
  maxDelay?: number;
}

/** The whole application, ready to listen. Everything it does is registered here. */
export async function buildApp(dependencies: AppDependencies) {
  const { settings, database, log, calls = openCalls(database), metrics = new Metrics() } = dependencies;
  const { domain = ours, now = () => new Date(), leaving = () => false } = dependencies;
  const { followed, records, change, example, handlers } = domain;
  const { version } = manifest;
  const links = [...pages, ...domain.pages].map(({ name }) => name);
  refuseSameNames('links of GET /', links, 'page');
  refuseWrongJobs(domain.jobs);
  for (const each of followed) refuseTakenNames(each, Object.keys(change.properties), links);
  const app = makeServer(settings, log);
  const allowance = await openRateLimits(settings, log);
  const credentials = await openCredentials(settings, { database, log, now });
  metrics.caches.set('limited_names', allowance.store.size);
  if (credentials) metrics.caches.set('api_keys', credentials.keys.size);

  // Hooks run in this order. A plugin names the earlier ones that it relies on, and the application does not start in
  // another order. This one sets what the others read, and refuses a route that is registered before the gate.
  await app.register(routing);
  // Cuts a connection that pipelines too many requests, before they cost more.
  await app.register(connections);
  // The span of a request covers all that follows.
  if (isTracing()) await app.register(tracing);
  // Corrects the address of the client, which the log and the limits use.
  await app.register(proxies, { trusted: settings.TRUST_PROXY !== '' });
  // Sets how bodies are read and checked; routes keep what is set when they are registered.
  await app.register(parsing);
  // Gives every answer its headers, even a refusal by a later plugin.
  await app.register(headers);
  // Logs every request that was not cut, even one that a later plugin refuses.
  await app.register(logging, { metrics });
  // Lets pages of other origins read the answers, even a refusal by a later plugin.
  await app.register(cors, { origins: splitList(settings.CORS_ORIGINS) });
  // Refuses requests to a busy service before the caller is looked up.
  await app.register(pressure, { settings, metrics, maxDelay: dependencies.maxDelay });
  // Collects the routes, so it stands before all but the one of CORS.
  await app.register(methods);
  // Finds out who calls.
  await app.register(identity, { credentials, limits: allowance });
  // Limits how much each caller may ask, and counts even what the gate refuses.
  await app.register(limits, { limits: allowance });
  // Refuses callers without the scope of the route.
  await app.register(gate);
  // Gives handlers what they work with: the caller, the limit and the deadline that the hooks above have set.
  const effects = openEffects(domain.effects, followed, calls.effects.call);
  await app.register(contexts, { database, now, effects });
  // Gives them streams, which use such a context.
  await app.register(streams, { settings, metrics });

  const open = credentials === undefined;
  const feed = makeFeed(followed, { database, log, now });
  // Describes all routes, also those that follow, when the document is first asked for.
  await app.register(docs, { version, open, resources: followed, example: example.path });
  const examples = exampleOperations(domain.resources, example);
  await app.register(home, {
    version,
    settings,
    database,
    open,
    hasTool: hasTool(settings),
    pages: domain.pages,
    counted: followed,
    first: domain.first,
    look: examples.look,
    handlers,
  });
  await app.register(operatorConsole, { version, resources: records, database });
  await app.register(health, { prefix: '/health', database, leaving });
  if (settings.METRICS_PORT === undefined) await app.register(metricsRoute, { metrics });
  // The pages and routes of the application.
  for (const { page } of domain.pages) await app.register(page, { settings });
  for (const routes of domain.routes) await app.register(routes, { prefix: '/api', settings });
  // The service's routes follow: no resource may have the path of one. Those of `refuseOtherMethods` do not count.
  app.addHook('onRoute', ({ url, schema }) => void (schema?.hide || refuseTakenPath(followed, url)));
  await app.register(batchRoute, { prefix: '/api', settings, resources: domain.resources, example });
  await app.register(changeRoutes, { prefix: '/api', feed, change, example: example.name });
  await app.register(accessRoutes, { prefix: '/api', names: records.map(({ name }) => name) });
  await app.register(graphql, {
    prefix: '/api',
    settings,
    metrics,
    parts: domain.fields,
    examples,
    feed,
  });
  await app.register(eventRoutes, { prefix: '/api', calls });
  await app.register(webhooks, { prefix: '/api', settings, handlers, metrics, calls, now });
  // Shows what all of the above count, from its registration on.
  await app.register(overviewRoute, { prefix: '/api', settings, database, metrics, log, now });

  // HEAD routes are not in the document.
  const documented = app.routes.filter(({ method }) => method !== 'HEAD');
  const operations = documented.flatMap(({ schema }) => schema?.operationId ?? []);
  refuseSameNames('operations', operations, 'resource');
  // Refuses two schemas with one name: one would replace the other in answers and in the document.
  componentsIn(app.routes.map(({ schema }) => schema ?? {}));
  refuseOtherMethods(app);
  await app.ready();
  return app;
}

/** Bytes of a request body; webhooks have a larger limit of their own. */
const bodyLimit = 256 * 1024;

function chooseRequestId({ headers }: IncomingMessage): string {
  const id = headers['x-request-id'];
  return typeof id === 'string' && /^[\w.:-]{1,100}$/.test(id) ? id : randomUUID();
}

const nodeOptions: ServerOptions = {
  shouldUpgradeCallback: acceptUpgrade,
  // Cuts a client that sends slowly or not at all. Without a check each second, its socket may live half a minute.
  requestTimeout: arrivalTimeout,
  headersTimeout: arrivalTimeout,
  connectionsCheckingInterval: 1000,
  keepAliveTimeout: 65_000,
  // Node would answer with an empty 400; plugins/http/requests/parsing.ts answers with a body.
  requireHostHeader: false,
};

function makeServer(settings: Settings, log: Log) {
  const server = fastify<Server>({
    loggerInstance: log,
    logController: new LogController({ disableRequestLogging: true }),
    genReqId: chooseRequestId,
    trustProxy: trustedProxies(settings.TRUST_PROXY) ?? false,
    bodyLimit,
    // Ids may be as long as headers, so that a long id is just an unknown one.
    routerOptions: { maxParamLength: 16_384 },
    frameworkErrors: answerBadPath,
    clientErrorHandler: answerBrokenHttp,
    // Requests that arrive while the server closes are answered; the replies ask their clients to leave.
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    serverFactory: handler =>
      createServer(nodeOptions, (request, response) => {
        // Node still handles what it read from a connection that was cut, which may be thousands of requests.
        if (request.socket.destroyed) request.destroy();
        else handler(request, response);
      }).setTimeout(socketTimeout(settings)),
  });
  // A route keeps the error handler set before it. If a plugin came first, the CORS preflight would answer 500.
  server.setErrorHandler(sendError);
  // Reads the address of the peer, which Node then keeps: once a client has reset the connection it is unknown.
  server.server.on('connection', socket => void socket.remoteAddress);
  // Ignores an unknown Expect header, which is allowed: by default Node answers it with an empty 417.
  server.server.on('checkExpectation', (request, reply) => server.server.emit('request', request, reply));
  return server.withTypeProvider<TypeBoxTypeProvider>();
}
