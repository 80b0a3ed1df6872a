import type { Settings } from '../schemas/settings.ts';
import { type Context, systemContext } from './access/context.ts';
import { isLockedOut } from './database/databaseErrors.ts';
import { startFolding } from './database/totals.ts';
import { trimAudit } from './records/audit.ts';
import { keptDays, trimKeys } from './records/idempotency.ts';
import { watchService } from './telemetry/watch.ts';
import { trimEvents } from './webhooks/events.ts';
import { startWorker, type WorkerDependencies } from './webhooks/worker.ts';

const second = 1000;
const hour = 3600 * second;
const day = 24 * hour;

/** A job of the application. Every worker does it at its start, and again so many seconds after it has ended. */
export interface Job {
  /** In the log, and as the actor in the audit log. */
  name: string;
  every: number;
  run(context: Context, settings: Settings): Promise<void>;
}

type Dependencies = WorkerDependencies & { jobs: Job[] };

/**
 * What a worker does: it processes events as they come, folds changes into the totals, trims old records, and does the
 * jobs of the application.
 */
export function startJobs(dependencies: Dependencies): { close: () => Promise<void> } {
  const { settings, database, log, now } = dependencies;
  const { WEBHOOK_RETENTION_DAYS: eventDays, AUDIT_RETENTION_DAYS: auditDays } = settings;
  const contextOf = (name: string) =>
    systemContext({ db: database.writes, log, ...(now && { now }) }, name, 'job');
  const context = contextOf('jobs');
  /** Works again and again, each time after the pause that the work returns. */
  function repeat(work: () => Promise<number>, away: string, back: string) {
    const working = watchService({
      check: work,
      // What fails, or meets a lock of another process or of a write, is tried again after this.
      every: 10 * second,
      cannotTell: error => !database.available() || isLockedOut(error),
      ...{ log, away, back },
    });
    database.ready.then(working.checkNow, () => {});
    return working;
  }
  function startJob({ name, every, run }: Job) {
    const work = async () => {
      await run(contextOf(name), settings);
      return every * second;
    };
    return repeat(work, `The job "${name}" fails.`, `The job "${name}" is done again.`);
  }
  /** Trims old records every hour, in batches, so that no write waits for long. */
  function startTrimming(what: string, days: number, deleteBatch: typeof trimEvents) {
    let trimmed = 0;
    const work = async () => {
      const deleted = await deleteBatch(context, new Date(context.now().getTime() - days * day));
      trimmed += deleted;
      if (deleted > 0) return 0;
      if (trimmed > 0) log.info(`Trimmed ${trimmed} ${what}.`);
      trimmed = 0;
      return hour;
    };
    return repeat(work, `Old ${what} cannot be trimmed.`, `Old ${what} are trimmed again.`);
  }
  const jobs = [
    startWorker(dependencies, context),
    startTrimming('webhook events', eventDays, trimEvents),
    startTrimming('idempotency keys', keptDays, trimKeys),
    ...dependencies.jobs.map(startJob),
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
