import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises';
import { promisify } from 'node:util';
import { serveMetrics } from '#plugins/metrics.ts';
import { serviceName, serviceTitle } from '#schemas/name.ts';
import type { Settings } from '#schemas/settings.ts';
import { buildApp } from './app.ts';
import { mainOf, settingsUsage } from './command.ts';
import { loadSettings } from './config/settings.ts';
import { handlerTimeout } from './config/timeouts.ts';
import { domain } from './domain/index.ts';
import { startJobs } from './jobs.ts';
import { Ending } from './process/ending.ts';
import { exit } from './process/exit.ts';
import { checkPort } from './process/ports.ts';
import { openRuntime, type Runtime } from './process/runtime.ts';
import type { Log } from './telemetry/log.ts';

type App = Awaited<ReturnType<typeof buildApp>>;
type Jobs = ReturnType<typeof startJobs>;

/** The server: it starts in order, ends in reverse, and sets the exit code. */
async function main() {
  const ending = new Ending();
  const configured = loadSettings();
  await checkPort('PORT', configured.PORT, configured.HOST);
  const runtime = await openRuntime(configured);
  const { settings, log, database, metrics } = runtime;
  const app = await buildApp({ ...runtime, leaving: () => ending.begun });
  const jobs = settings.WORKER === 'inside' ? startJobs(runtime, domain) : undefined;
  ending.prepare(runtime, () => close(runtime, app, jobs));
  app.server.prependListener('request', (_request, response) => {
    if (ending.begun) response.setHeader('connection', 'close');
  });
  surviveForgottenErrors(log);
  const isReady = () => !ending.begun && database.available() && database.hasConnections();
  if (settings.METRICS_PORT !== undefined) await serveMetrics(metrics, settings, isReady);
  // Waits a second at most: an unreachable database must not keep the process from answering.
  await Promise.race([database.ready, sleep(1000, undefined, { ref: false })]);
  if (!ending.begun) await listen(app, runtime);
  // Fails when the database can never be used.
  await database.ready;
}

/** Listens, and says where everything is. */
async function listen(app: App, { settings, database, log }: Runtime): Promise<void> {
  if (!database.available())
    log.warn('The database cannot be used yet: the service waits for it, and answers with 503 until then.');
  const { PORT: port, HOST: host, AUTH_MODE = 'open' } = settings;
  const listenTextResolver = (address: string) => `${serviceTitle} serves ${address}/`;
  const address = await app.listen({ port, host, listenTextResolver });
  log.info(`API       ${address}/api/users`);
  log.info(`Docs      ${address}/docs`);
  log.info(`GraphQL   ${address}/api/graphql`);
  log.info(`Console   ${address}/console`);
  log.info(`Database  ${describeDatabase(settings)}`);
  if (AUTH_MODE === 'open') log.warn('AUTH_MODE is open: anyone who can reach this port may read and write.');
}

/** Shows only a part of the URL, which has a password. */
function describeDatabase({ DATABASE_URL, DATA_DIR }: Settings): string {
  if (DATABASE_URL === undefined) return `embedded, in ${DATA_DIR}; DATABASE_URL sets a PostgreSQL server`;
  const { host, pathname } = new URL(DATABASE_URL);
  return `PostgreSQL, ${host}${pathname}`;
}

/** Lets requests and jobs end. */
async function close({ settings, log }: Runtime, app: App, jobs: Jobs | undefined): Promise<void> {
  const { DRAIN_SECONDS, REQUEST_TIMEOUT } = settings;
  log.info(
    `Requests are served for ${DRAIN_SECONDS} s; those in flight then get up to ${REQUEST_TIMEOUT} s.`,
  );
  // /health/ready is 503 by now: load balancers stop sending requests before the port is closed.
  await sleep(DRAIN_SECONDS * 1000);
  limitShutdown(app, settings);
  await letClientsLeave(app);
  // Both close at once, because each may need most of the time.
  await Promise.all([app.close(), jobs?.close()]);
}

/** Waits briefly for clients to leave, then closes idle connections. The wait saves requests that are on their way. */
async function letClientsLeave({ server }: App): Promise<void> {
  const connections = promisify(server.getConnections.bind(server));
  for (let looks = 0; looks < 50 && (await connections()) > 0; looks++) await sleep(20);
  // After its timers and before the next turn, a busy process reads what arrived: until then, a connection with an
  // unread request looks idle.
  await turn();
  setInterval(() => setImmediate(() => server.closeIdleConnections()), 100);
}

/** Neither a busy or half-open socket nor a silent database may delay the exit. */
function limitShutdown(app: App, settings: Settings): void {
  const timeout = handlerTimeout(settings);
  setTimeout(() => app.server.closeAllConnections(), timeout);
  setTimeout(exit, timeout + 1000, 0);
}

/**
 * Keeps the process alive when one item of a list fails at once: graphql-js then forgets the promises of the items
 * before it, and a failed promise that nobody holds ends the process. The client gets the error of the list. Every
 * other such promise still ends the process.
 */
function surviveForgottenErrors(log: Log): void {
  process.on('unhandledRejection', error => {
    if (!(error instanceof Error && error.name === 'GraphQLError')) throw error;
    log.error({ err: error }, 'A part of a GraphQL operation failed after the whole.');
  });
}

await mainOf(import.meta, {
  usage: `npm start: serves REST, GraphQL and webhooks until SIGTERM or Ctrl-C. ${settingsUsage}

Example: PORT=4000 DATABASE_URL=postgres://user:password@host:5432/${serviceName} npm start`,
  run: main,
});
