import { setTimeout as sleep } from 'node:timers/promises';
import type { Settings } from '#schemas/settings.ts';
import { withKeptSecrets } from '#src/config/secrets.ts';
import { openDatabase } from '#src/database/open.ts';
import { openLog } from '#src/telemetry/log.ts';
import { openCalls } from '#src/webhooks/calls.ts';
import { openMetrics } from './metrics.ts';
import { checkPort } from './ports.ts';
import { startTraces } from './traces.ts';

/** What the server and the worker both need. */
export type Runtime = Awaited<ReturnType<typeof openRuntime>>;

export async function openRuntime(configured: Settings) {
  await checkPort('METRICS_PORT', configured.METRICS_PORT, configured.HOST);
  const stopTraces = await startTraces(process.env);
  // A machine reads the log in production, even if the container has a terminal.
  const log = openLog(configured, process.stdout.isTTY && configured.NODE_ENV !== 'production');
  const database = await openDatabase(configured, log);
  // The secrets are in the folder that the database has locked for this process by now.
  const settings = withKeptSecrets(configured);
  const calls = openCalls(database);
  const metrics = openMetrics(database);
  return { settings, log, database, calls, metrics, stopTraces };
}

/** Closes what `openRuntime` opened, in reverse. Requests and the worker must have ended. */
export async function closeRuntime({ database, stopTraces }: Runtime): Promise<void> {
  await database.close();
  // An unreachable collector must not delay the exit.
  await Promise.race([stopTraces(), sleep(1000)]);
}
