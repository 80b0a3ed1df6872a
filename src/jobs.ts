import { systemContext } from './core/context.ts';
import { startTrimming } from './trimming.ts';
import { startWorker, type WorkerParts } from './webhooks/worker.ts';

/** Processes events as they come, and trims old records. */
export function startJobs(parts: WorkerParts): { close: () => Promise<void> } {
  const { settings, database, log, now } = parts;
  const worker = startWorker(parts);
  const context = systemContext({ db: database.writes, log, ...(now && { now }) }, 'jobs', 'job');
  const stopTrimming = startTrimming(context, settings, database);
  return { close: async () => void (await Promise.all([worker.close(), stopTrimming()])) };
}
