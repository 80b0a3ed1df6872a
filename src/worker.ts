import { serveMetrics } from '#plugins/metrics.ts';
import { serviceName } from '#schemas/name.ts';
import { mainOf, settingsUsage } from './command.ts';
import { loadSettings } from './config/settings.ts';
import { OperatorError } from './core/errors.ts';
import { domain } from './domain/index.ts';
import { startJobs } from './jobs.ts';
import { Ending } from './process/ending.ts';
import { openRuntime } from './process/runtime.ts';

/** A process that processes webhook events, and runs effects and jobs, with WORKER=apart or to add capacity. */
async function main() {
  const ending = new Ending();
  const configured = loadSettings();
  if (configured.DATABASE_URL === undefined)
    throw new OperatorError('A worker needs DATABASE_URL: an embedded database belongs to the server.');
  const runtime = await openRuntime(configured);
  const { settings, log, database, metrics } = runtime;
  const jobs = startJobs(runtime, domain);
  ending.prepare(runtime, jobs.close);
  const isReady = () => !ending.begun && database.available() && database.hasConnections();
  if (settings.METRICS_PORT !== undefined) await serveMetrics(metrics, settings, isReady);
  await database.ready;
  if (!ending.begun) log.info('The worker waits for webhook events and effects.');
}

await mainOf(import.meta, {
  usage: `npm run worker: processes the events, and runs the effects, that servers with WORKER=apart have stored. ${settingsUsage}

Example: DATABASE_URL=postgres://user:password@host:5432/${serviceName} npm run worker`,
  run: main,
});
