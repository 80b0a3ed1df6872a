import type { Server } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import manifest from '../package.json' with { type: 'json' };
import { serveMetrics } from '../plugins/metrics.ts';
import { buildApp } from './app.ts';
import { loadSettings, runCommand } from './command.ts';
import { checkPort } from './config/ports.ts';
import { withKeptSecrets } from './config/secrets.ts';
import { wantsTraces } from './config/settings.ts';
import { openLog } from './core/log.ts';
import { reasonOf } from './core/operatorErrors.ts';
import { openDatabase } from './database/open.ts';
import { startJobs } from './jobs.ts';
import { openMetrics } from './webhooks/backlog.ts';
import { openQueue } from './webhooks/queue.ts';

/** The process: it starts in order, ends in reverse, and owns the exit code. */
async function main() {
  // Until there is something to finish, a signal ends the start. As process 1 of a container it would be ignored.
  let end = async (_reason: string, code: number) => process.exit(code);
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => void end(signal, 0));

  const given = loadSettings();
  await checkPort('PORT', given.PORT, given.HOST);
  await checkPort('METRICS_PORT', given.METRICS_PORT, given.HOST);
  const stopTracing = wantsTraces(given)
    ? (await import('./telemetry/otel.ts')).startTracing(manifest.version)
    : undefined;
  const log = openLog(given, process.stdout.isTTY);
  const database = await openDatabase(given, log);
  // After the database, because its folder belongs to this process from then on.
  const settings = withKeptSecrets(given);
  const queue = openQueue(settings, database, log);
  const metrics = openMetrics(database);
  let ending = false;
  const app = await buildApp({ settings, database, queue, metrics, log, leaving: () => ending });
  const jobs =
    settings.WORKER === 'inside' ? startJobs({ settings, database, queue, metrics, log }) : undefined;

  end = async (reason, code) => {
    // Asked twice means now.
    if (ending) process.exit(code || 1);
    ending = true;
    const { DRAIN_SECONDS, SHUTDOWN_TIMEOUT } = settings;
    log.info(
      `Ending: ${reason}. Requests go on for ${DRAIN_SECONDS} s; those in flight then get ${SHUTDOWN_TIMEOUT} s.`,
    );
    // /health/ready says so from now on: a balancer turns to others before this port is closed.
    if (code === 0) await sleep(DRAIN_SECONDS * 1000);
    // Neither a client that keeps a socket busy or half open nor a database that is silent decides when the process ends.
    const limit = SHUTDOWN_TIMEOUT * 1000;
    setTimeout(() => app.server.closeAllConnections(), limit);
    setTimeout(() => process.exit(code), limit + 1500);
    try {
      await letClientsLeave(app.server);
      // Side by side: each may take most of the time that the process has.
      await Promise.all([app.close(), jobs?.close()]);
      // Not sooner: the last request may have added a job.
      await queue.close();
      await database.close();
      // A collector that is away shall not hold the end.
      await Promise.race([stopTracing?.(), sleep(1000)]);
      log.info('Ended.');
    } catch (error) {
      log.error({ err: error }, 'The end was not orderly.');
    }
    process.exit(code);
  };
  app.server.prependListener('request', (_request, response) => {
    if (ending) response.setHeader('connection', 'close');
  });
  database.ready.catch(error => {
    const reason = reasonOf(error);
    if (reason === undefined) log.fatal({ err: error }, 'The database cannot be used.');
    else console.error(reason);
    void end('no database', 1);
  });

  const listenTextResolver = (address: string) =>
    `Triport serves ${address}/api/users, ${address}/api/posts and ${address}/api/graphql`;
  if (settings.METRICS_PORT !== undefined) await serveMetrics(metrics, settings);
  const address = await app.listen({ port: settings.PORT, host: settings.HOST, listenTextResolver });
  log.info(`Docs ${address}/docs   Health ${address}/health/ready   First page ${address}/`);
  if (database.kind === 'embedded')
    log.info(`The database is embedded, in ${settings.DATA_DIR}. Set DATABASE_URL for a PostgreSQL server.`);
  if (settings.AUTH_MODE === undefined || settings.AUTH_MODE === 'open')
    log.warn('AUTH_MODE is open: everybody who reaches this port may read and write.');
}

/**
 * Closing drops idle connections, and with them a request that is on its way on one. So for a moment every
 * answer asks its client to leave; then what is idle is closed, also what becomes idle later.
 */
async function letClientsLeave(server: Server): Promise<void> {
  const connections = promisify(server.getConnections.bind(server));
  for (const end = Date.now() + 500; Date.now() < end && (await connections()) > 0; ) await sleep(20);
  setInterval(() => server.closeIdleConnections(), 100);
}

await runCommand({
  usage: `npm start: serves REST, GraphQL and webhooks. Settings are environment variables, also of a file .env: see .env.example.`,
  run: main,
});
