import { systemContext } from './access/context.ts';
import { isLockedOut } from './database/databaseErrors.ts';
import { startFolding } from './database/totals.ts';
import { trimAudit } from './services/audit.ts';
import { keptDays, trimKeys } from './services/idempotency.ts';
import { watchService } from './telemetry/watch.ts';
import { trimEvents } from './webhooks/events.ts';
import { startWorker, type WorkerDependencies } from './webhooks/worker.ts';

const second = 1000;
const hour = 3600 * second;
const day = 24 * hour;

/** What a worker does: it processes events as they come, folds changes into the totals, and trims old records. */
export function startJobs(dependencies: WorkerDependencies): { close: () => Promise<void> } {
  const { settings, database, log, now } = dependencies;
  const { WEBHOOK_RETENTION_DAYS: eventDays, AUDIT_RETENTION_DAYS: auditDays } = settings;
  const context = systemContext({ db: database.writes, log, ...(now && { now }) }, 'jobs', 'job');
  /** Trims old records every hour, in batches, so that no write waits for long. */
  function startTrimming(what: string, days: number, deleteBatch: typeof trimEvents) {
    let trimmed = 0;
    const trimming = watchService({
      check: async () => {
        const deleted = await deleteBatch(context, new Date(context.now().getTime() - days * day));
        trimmed += deleted;
        if (deleted > 0) return 0;
        if (trimmed > 0) log.info(`Trimmed ${trimmed} ${what}.`);
        trimmed = 0;
        return hour;
      },
      // A lock of another process, or of a write, is tried again after this.
      every: 10 * second,
      cannotTell: error => !database.available() || isLockedOut(error),
      log,
      away: `Old ${what} cannot be trimmed.`,
      back: `Old ${what} are trimmed again.`,
    });
    database.ready.then(trimming.checkNow, () => {});
    return trimming;
  }
  const jobs = [
    startWorker(dependencies, context),
    startTrimming('webhook events', eventDays, trimEvents),
    startTrimming('idempotency keys', keptDays, trimKeys),
    ...(auditDays > 0 ? [startTrimming('audit log entries', auditDays, trimAudit)] : []),
  ];
  const stopFolding = startFolding(database, log);
  return {
    async close() {
      stopFolding();
      await Promise.all(jobs.map(job => job.close()));
    },
  };
}
