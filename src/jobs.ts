import { setTimeout as sleep } from 'node:timers/promises';
import type { Settings } from '#schemas/settings.ts';
import { type Context, systemContext } from './access/context.ts';
import type { Followed } from './changes/followed.ts';
import { numberChanges, trimNumbers } from './changes/numbers.ts';
import { OperatorError } from './core/errors.ts';
import { isLockedOut } from './database/databaseErrors.ts';
import { repeat } from './database/repeat.ts';
import { startFolding } from './database/totals.ts';
import { type Effects, openEffects } from './effects/effect.ts';
import { startEffects } from './effects/worker.ts';
import { trimAudit } from './records/audit.ts';
import { keyRetentionDays, trimKeys } from './records/idempotency.ts';
import { refuseSameNames } from './records/names.ts';
import { trimEvents } from './webhooks/events.ts';
import type { Handlers } from './webhooks/handler.ts';
import { startWorker, type WorkerDependencies } from './webhooks/worker.ts';

const second = 1000;
const day = 24 * 3600 * second;
/** Milliseconds that running work gets at the end; effects get more. Another worker takes what is not done by then. */
const endWithin = 5 * second;
/** The longest time of a Node timer, in seconds: a timer with a longer one would fire at once. */
const longestPause = 2_147_483;

/** Work that every worker does at its start, and again `every` seconds after it has ended. */
export interface Job {
  /** Names the job in the log, and the actor in the audit log. */
  name: string;
  every: number;
  /** The signal aborts when the worker ends, which then waits five seconds for the job. */
  run(context: Context, settings: Settings, signal: AbortSignal): Promise<void>;
}

/** Refuses jobs that cannot be repeated, or told apart in the log. */
export function refuseWrongJobs(jobs: Job[]): void {
  const names = jobs.map(({ name }) => name);
  refuseSameNames('jobs', names, 'job');
  for (const { name, every } of jobs)
    if (!(every > 0 && every <= longestPause))
      throw new OperatorError(
        `The pause of the job '${name}' must be above 0 and at most ${longestPause} seconds.`,
      );
}

/** Deletes old records in batches, so that no write waits for long. */
const trimming = (what: string, days: number, deleteBatch: typeof trimEvents): Job => ({
  name: `trim ${what}`,
  every: 3600,
  async run(context, _settings, signal) {
    const before = new Date(context.now().getTime() - days * day);
    let trimmed = 0;
    for (let deleted = 1; deleted > 0 && !signal.aborted; trimmed += deleted)
      deleted = await deleteBatch(context, before);
    if (trimmed > 0) context.log.info(`Trimmed ${trimmed} ${what}.`);
  },
});

/** What a worker does: it processes events and effects as they come, folds changes into the totals, and repeats jobs. */
export function startJobs(
  dependencies: WorkerDependencies,
  given: { handlers: Handlers; effects: Effects; followed: Followed[]; jobs: Job[] },
) {
  const { settings, database, calls, log, now } = dependencies;
  const effects = openEffects(given.effects, given.followed, calls.effects.call);
  const { WEBHOOK_RETENTION_DAYS: eventDays, AUDIT_RETENTION_DAYS: auditDays } = settings;
  const jobs = [
    trimming('webhook events', eventDays, trimEvents),
    trimming('idempotency keys', keyRetentionDays, trimKeys),
    {
      name: 'number changes',
      every: 10,
      // Leaves little to do for the first follower after a while, who waits until all are numbered.
      run: async (context: Context) => void (await numberChanges({ ...context, db: database.upkeep })),
    },
    ...(auditDays > 0
      ? [
          trimming('numbers of changes', auditDays, trimNumbers),
          trimming('audit log entries', auditDays, trimAudit),
        ]
      : []),
    ...given.jobs,
  ];
  const closing = new AbortController();
  const contextFor = (name: string) =>
    systemContext({ db: database.writes, log, effects, ...(now && { now }) }, name, 'job');
  function start({ name, every, run }: Job) {
    const context = contextFor(name);
    const repeated = repeat({
      work: async () => {
        await run(context, settings, closing.signal);
        return every * second;
      },
      // A job that fails, or meets a lock of another process or of a write, is tried again after this time.
      every: 10 * second,
      cannotTell: error => !database.available() || isLockedOut(error),
      log,
      away: `The job "${name}" fails.`,
      back: `The job "${name}" is done again.`,
    });
    database.ready.then(repeated.workNow, () => {});
    return repeated;
  }
  const worker = startWorker(dependencies, given.handlers, contextFor('jobs'));
  const runningEffects = startEffects(dependencies, given, contextFor('effects'), worker);
  const running = [worker, ...jobs.map(start)];
  const stopFolding = startFolding(database, log);
  return {
    async close() {
      stopFolding();
      closing.abort();
      const ended = Promise.all(running.map(work => work.close()));
      const soon = sleep(endWithin, undefined, { ref: false });
      await Promise.all([Promise.race([ended, soon]), runningEffects.close()]);
    },
  };
}
