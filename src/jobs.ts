import type { Settings } from '../schemas/settings.ts';
import { type Context, systemContext } from './core/context.ts';
import type { Database } from './database/database.ts';
import { isLockedOut } from './database/databaseErrors.ts';
import { startFolding } from './database/totals.ts';
import { trimAudit } from './services/audit.ts';
import { keptDays, trimKeys } from './services/idempotency.ts';
import { trimEvents } from './webhooks/events.ts';
import { startWorker, type WorkerDependencies } from './webhooks/worker.ts';

/** What a worker does: it processes events as they come, folds changes into the totals, and trims old records. */
export function startJobs(dependencies: WorkerDependencies): { close: () => Promise<void> } {
  const { settings, database, log, now } = dependencies;
  const worker = startWorker(dependencies);
  const context = systemContext({ db: database.writes, log, ...(now && { now }) }, 'jobs', 'job');
  const stopTrimming = startTrimming(context, settings, database);
  const stopFolding = startFolding(database, log);
  return {
    async close() {
      stopFolding();
      await Promise.all([worker.close(), stopTrimming()]);
    },
  };
}

const hour = 3_600_000;
const day = 24 * hour;

/** Trims old records every hour; returns what stops it after the current batch. */
function startTrimming(context: Context, settings: Settings, database: Database): () => Promise<void> {
  const { WEBHOOK_RETENTION_DAYS: eventDays, AUDIT_RETENTION_DAYS: auditDays } = settings;
  let stopped = false;
  /** In batches, so that no write waits for long. */
  async function trim(what: string, days: number, deleteBatch: typeof trimEvents) {
    const before = new Date(context.now().getTime() - days * day);
    let trimmed = 0;
    try {
      for (let deleted = -1; deleted !== 0 && !stopped; trimmed += deleted)
        deleted = await deleteBatch(context, before);
    } catch (error) {
      // Another process trims the same, or a row is being written.
      if (isLockedOut(error)) context.log.info(`Some old ${what} are locked: the rest is for the next hour.`);
      else if (database.available()) context.log.error({ err: error }, `Old ${what} cannot be trimmed.`);
    }
    if (trimmed > 0) context.log.info(`Trimmed ${trimmed} ${what}.`);
  }
  async function trimAll() {
    await trim('webhook events', eventDays, trimEvents);
    await trim('idempotency keys', keptDays, trimKeys);
    if (auditDays > 0) await trim('audit log entries', auditDays, trimAudit);
  }
  let trimming = Promise.resolve();
  const start = () => {
    trimming = trimAll();
  };
  database.ready.then(start, () => {});
  const timer = setInterval(start, hour).unref();
  return async () => {
    stopped = true;
    clearInterval(timer);
    await trimming;
  };
}
