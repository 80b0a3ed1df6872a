import { setTimeout as sleep } from 'node:timers/promises';
import type { Settings } from '../schemas/settings.ts';
import { type Context, systemContext } from './access/context.ts';
import { isLockedOut } from './database/databaseErrors.ts';
import { startFolding } from './database/totals.ts';
import { trimAudit } from './records/audit.ts';
import { keptDays, trimKeys } from './records/idempotency.ts';
import { watchService } from './telemetry/watch.ts';
import { trimEvents } from './webhooks/events.ts';
import type { Handlers } from './webhooks/handler.ts';
import { startWorker, type WorkerDependencies } from './webhooks/worker.ts';

const second = 1000;
const hour = 3600 * second;
const day = 24 * hour;

/** How long the work that runs may still take at the end. Another worker finds events that are not done by then. */
const endWithin = 5 * second;
/** When work is tried again that failed, or met a lock of another process or of a write. */
const tryAgainAfter = 10 * second;
/** Timers of Node go no further: one that should would ring at once. */
const longestPause = 2_147_483;

/** A job of the application. Every worker runs it at its start, and again `every` seconds after it has ended. */
export interface Job {
  /** In the log, and as the actor in the audit log. */
  name: string;
  every: number;
  /** The signal tells that the worker ends: it waits for five seconds. */
  run(context: Context, settings: Settings, signal: AbortSignal): Promise<void>;
}

function checkPause({ name, every }: Job): void {
  if (!(every > 0 && every <= longestPause))
    throw new Error(`The pause of the job "${name}" must be above 0 and at most ${longestPause} seconds.`);
}

interface Work {
  handlers: Handlers;
  jobs: Job[];
}

/**
 * What a worker does: it processes events as they come, folds changes into the totals, trims old records, and does the
 * jobs of the application.
 */
export function startJobs(dependencies: WorkerDependencies, { handlers, jobs }: Work) {
  jobs.forEach(checkPause);
  const { settings, database, log, now } = dependencies;
  const { WEBHOOK_RETENTION_DAYS: eventDays, AUDIT_RETENTION_DAYS: auditDays } = settings;
  const closing = new AbortController();
  const contextOf = (name: string) =>
    systemContext({ db: database.writes, log, ...(now && { now }) }, name, 'job');
  const context = contextOf('jobs');
  /** Works again and again, each time after the pause that the work returns. */
  function repeat(work: () => Promise<number>, away: string, back: string) {
    const cannotTell = () => !database.available();
    const working = watchService({ check: work, every: tryAgainAfter, cannotTell, log, away, back });
    database.ready.then(working.checkNow, () => {});
    return working;
  }
  function startJob({ name, every, run }: Job) {
    const work = async () => {
      await run(contextOf(name), settings, closing.signal);
      return every * second;
    };
    return repeat(work, `The job "${name}" fails.`, `The job "${name}" is done again.`);
  }
  /** Trims old records every hour, in batches, so that no write waits for long. */
  function startTrimming(what: string, days: number, deleteBatch: typeof trimEvents) {
    let trimmed = 0;
    const trim = async () => {
      const deleted = await deleteBatch(context, new Date(context.now().getTime() - days * day));
      trimmed += deleted;
      if (deleted > 0) return 0;
      if (trimmed > 0) log.info(`Trimmed ${trimmed} ${what}.`);
      trimmed = 0;
      return hour;
    };
    const orLater = (error: unknown) => {
      if (isLockedOut(error)) return tryAgainAfter;
      throw error;
    };
    const work = () => trim().catch(orLater);
    return repeat(work, `Old ${what} cannot be trimmed.`, `Old ${what} are trimmed again.`);
  }
  const running = [
    startWorker(dependencies, handlers, context),
    startTrimming('webhook events', eventDays, trimEvents),
    startTrimming('idempotency keys', keptDays, trimKeys),
    ...(auditDays > 0 ? [startTrimming('audit log entries', auditDays, trimAudit)] : []),
    ...jobs.map(startJob),
  ];
  const stopFolding = startFolding(database, log);
  return {
    async close() {
      stopFolding();
      closing.abort();
      const ended = Promise.all(running.map(work => work.close()));
      await Promise.race([ended, sleep(endWithin, undefined, { ref: false })]);
    },
  };
}
