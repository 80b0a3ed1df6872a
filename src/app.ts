import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerOptions } from 'node:http';
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import { fastify, LogController } from 'fastify';
import manifest from '#package.json' with { type: 'json' };
import { operatorConsole } from '#plugins/console/index.ts';
import { docs } from '#plugins/docs/index.ts';
import { exampleOperations } from '#plugins/graphql/examples.ts';
import { graphql } from '#plugins/graphql/index.ts';
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
import streams, { becomesWebSocket } from '#plugins/http/streams.ts';
import tracing from '#plugins/http/tracing.ts';
import { metricsRoute } from '#plugins/metrics.ts';
import { accessRoutes } from '#plugins/rest/access.ts';
import { changeRoutes } from '#plugins/rest/changes.ts';
import { eventRoutes } from '#plugins/rest/events.ts';
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
import { refuseWrongJobs } from './jobs.ts';
import { refuseSameNames, refuseTakenNames, refuseTakenPath } from './records/names.ts';
import type { Log } from './telemetry/log.ts';
import { Metrics } from './telemetry/metrics.ts';
import { isTracing } from './telemetry/tracing.ts';

interface AppDependencies {
  settings: Settings;
  database: Database;
  callWorkers?: () => void;
  log: Log;
  metrics?: Metrics;
  domain?: typeof ours;
  now?: () => Date;
  /** Whether this process is about to end, and balancers should turn to others. */
  leaving?: () => boolean;
  /** The delay of the event loop above which requests are refused, in milliseconds. Tests make a machine busy. */
  maxDelay?: number;
}

/** The whole application, ready to listen. Everything it does is registered here. */
export async function buildApp(dependencies: AppDependencies) {
  const { settings, database, callWorkers = () => {}, log, metrics = new Metrics() } = dependencies;
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

  // Hooks run in this order, and each plugin names those that must stand before it. First, what every hook reads.
  await app.register(routing);
  // Cuts a connection that sends too far ahead, before that costs more.
  await app.register(connections);
  // The span of a request covers all that follows.
  if (isTracing()) await app.register(tracing);
  // Corrects the address of the client, which the log and the limits take.
  await app.register(proxies, { trusted: settings.TRUST_PROXY !== '' });
  // Sets how bodies are read and checked; routes keep what is set when they are registered.
  await app.register(parsing);
  // Every answer has these headers, also a refusal by what follows.
  await app.register(headers);
  // Every refusal by what follows is logged.
  await app.register(logging, { metrics });
  // Pages of other origins read refusals, too.
  await app.register(cors, { origins: splitList(settings.CORS_ORIGINS) });
  // A busy service refuses before it looks who calls.
  await app.register(pressure, { settings, metrics, maxDelay: dependencies.maxDelay });
  // Collects the routes, so it stands before the first of them.
  await app.register(methods);
  // Who calls.
  await app.register(identity, { credentials, limits: allowance });
  // How much they may ask: those who may not ask at all are counted, too.
  await app.register(limits, { limits: allowance });
  // Whether they may.
  await app.register(gate);
  // What a handler works with: a request that gets here has a caller, a limit and a deadline.
  await app.register(contexts, { database, now });
  await app.register(streams, { settings, metrics });

  const open = credentials === undefined;
  const keptDays = settings.AUDIT_RETENTION_DAYS;
  const feed = makeFeed(followed, { database, log, now, keptDays });
  // Describes the routes that are registered after it.
  await app.register(docs, { version, open, resources: followed, example: example.path });
  await app.register(home, { version, open, resources: followed, counted: records, pages: domain.pages });
  await app.register(operatorConsole);
  await app.register(health, { prefix: '/health', database, leaving });
  if (settings.METRICS_PORT === undefined) await app.register(metricsRoute, { metrics });
  // Your pages and routes.
  for (const { page } of domain.pages) await app.register(page, { settings });
  for (const routes of domain.routes) await app.register(routes, { prefix: '/api', settings });
  // From here on the service's own: no resource may have the path of one. Routes of `refuseOtherMethods` are hidden.
  app.addHook('onRoute', ({ url, schema }) => void (schema?.hide || refuseTakenPath(followed, url)));
  await app.register(changeRoutes, { prefix: '/api', feed, change, example: example.name });
  await app.register(accessRoutes, { prefix: '/api', names: records.map(({ name }) => name) });
  await app.register(graphql, {
    prefix: '/api',
    settings,
    metrics,
    parts: domain.fields,
    examples: exampleOperations(domain.resources, example),
    feed,
  });
  await app.register(eventRoutes, { prefix: '/api', callWorkers });
  await app.register(webhooks, { prefix: '/api', settings, handlers, metrics, callWorkers, now });

  // The HEAD of a path is in no document.
  const documented = app.routes.filter(({ method }) => method !== 'HEAD');
  const operations = documented.flatMap(({ schema }) => schema?.operationId ?? []);
  refuseSameNames('operations', operations, 'resource');
  // Two schemas with one name would be one, in answers and in the document.
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
  shouldUpgradeCallback: becomesWebSocket,
  // A client that drips or says nothing is cut; the check must run often, or a socket lives half a minute.
  requestTimeout: arrivalTimeout,
  headersTimeout: arrivalTimeout,
  connectionsCheckingInterval: 1000,
  keepAliveTimeout: 65_000,
  // Node would answer with an empty 400; plugins/http/requests/parsing.ts does it with a body.
  requireHostHeader: false,
};

function makeServer(settings: Settings, log: Log) {
  const server = fastify<Server>({
    loggerInstance: log,
    logController: new LogController({ disableRequestLogging: true }),
    genReqId: chooseRequestId,
    trustProxy: trustedProxies(settings.TRUST_PROXY) ?? false,
    bodyLimit,
    // As long as headers may be: a long id is an unknown one like any other.
    routerOptions: { maxParamLength: 16_384 },
    frameworkErrors: answerBadPath,
    clientErrorHandler: answerBrokenHttp,
    // A request that came in before the end is answered; the reply asks the client to leave.
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    serverFactory: handler =>
      createServer(nodeOptions, (request, response) => {
        // Node goes on with what it has read: thousands of requests of a connection that was cut.
        if (request.socket.destroyed) request.destroy();
        else handler(request, response);
      }).setTimeout(socketTimeout(settings)),
  });
  // Before any plugin, because a route keeps the handler of the moment: the preflight of CORS answered 500.
  server.setErrorHandler(sendError);
  // Node keeps the address of a peer once it was read. Of a client that sends and resets at once it is unknown later.
  server.server.on('connection', socket => void socket.remoteAddress);
  // By default Node answers an unknown Expect header with an empty 417; the header may be ignored.
  server.server.on('checkExpectation', (request, reply) => server.server.emit('request', request, reply));
  return server.withTypeProvider<TypeBoxTypeProvider>();
}
