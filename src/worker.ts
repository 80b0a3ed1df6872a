import { setTimeout as sleep } from 'node:timers/promises';
import manifest from '../package.json' with { type: 'json' };
import { serveMetrics } from '../plugins/metrics.ts';
import { loadSettings, runCommand } from './command.ts';
import { checkPort } from './config/ports.ts';
import { wantsTraces } from './config/settings.ts';
import { openLog } from './core/log.ts';
import { OperatorError } from './core/operatorErrors.ts';
import { openDatabase } from './database/open.ts';
import { startJobs } from './jobs.ts';
import { openMetrics } from './webhooks/backlog.ts';
import { openQueue } from './webhooks/queue.ts';

/** A process that only works on the events which others have stored: for WORKER=apart, and for more hands. */
async function main() {
  const settings = loadSettings();
  if (settings.DATABASE_URL === undefined)
    throw new OperatorError(
      'A worker needs DATABASE_URL: an embedded database belongs to the process that serves.',
    );
  await checkPort('METRICS_PORT', settings.METRICS_PORT, settings.HOST);
  const stopTracing = wantsTraces(settings)
    ? (await import('./telemetry/otel.ts')).startTracing(manifest.version)
    : undefined;
  const log = openLog(settings, process.stdout.isTTY);
  const database = await openDatabase(settings, log);
  const queue = openQueue(settings, database, log);
  const metrics = openMetrics(database);
  const jobs = startJobs({ settings, database, queue, metrics, log });
  if (settings.METRICS_PORT !== undefined) await serveMetrics(metrics, settings);

  let ending = false;
  async function end(reason: string, code: number) {
    if (ending) process.exit(code || 1);
    ending = true;
    log.info(`Ending: ${reason}.`);
    await jobs.close();
    await queue.close();
    await database.close();
    // A collector that is away shall not hold the end.
    await Promise.race([stopTracing?.(), sleep(1000)]);
    log.info('Ended.');
    process.exit(code);
  }
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => void end(signal, 0));
  await database.ready;
  await queue.ready;
  log.info('The worker waits for webhook events.');
}

await runCommand({
  usage: `npm run worker: works on the events that servers have stored. Settings are environment variables, also of a file .env: see .env.example.`,
  run: main,
});
