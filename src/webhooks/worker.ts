import type { Settings } from '#schemas/settings.ts';
import type { Context } from '#src/access/context.ts';
import { effectProvider } from '#src/config/providers.ts';
import type { Database } from '#src/database/database.ts';
import { repeat } from '#src/database/repeat.ts';
import type { Log } from '#src/telemetry/log.ts';
import type { Metrics } from '#src/telemetry/metrics.ts';
import type { Calls } from './calls.ts';
import type { Handlers, IncomingEvent } from './handler.ts';
import { giveUp, processBatch } from './processing.ts';
import { type Batch, maxBatch, workOnBatch } from './queue.ts';

export interface WorkerDependencies {
  settings: Settings;
  database: Database;
  calls: Calls;
  metrics: Metrics;
  log: Log;
  now?: () => Date;
  /** Seconds until the first retry, and milliseconds that an effect has: tests need less. */
  retryDelay?: number;
  effectTimeout?: number;
}

/** Milliseconds between two looks at the queue without a call. */
const lookEvery = 1000;
/** Milliseconds of pause after a batch that was not full, so that more events gather. */
const gatherFor = 50;

/** Processes the events of the queue as they come. Those that are tried alone do not hold up the others. */
export function startWorker(dependencies: WorkerDependencies, handlers: Handlers, context: Context) {
  const { settings, database, calls, metrics, log } = dependencies;
  const { retryDelay = 5 } = dependencies;
  const check =
    settings.NODE_ENV === 'development' || settings.NODE_ENV === 'test' ? failIfMarked : undefined;
  // A transaction of the worker may hold the only connection for writes.
  const where = { outside: database.reads, isEmbedded: database.kind === 'embedded' };
  const retries = { most: settings.WEBHOOK_RETRIES, delay: retryDelay };

  /** Takes and processes one batch; returns the milliseconds until the next look, undefined if nothing was due. */
  async function work(isAlone: boolean) {
    const events = await workOnBatch(
      context,
      { ...where, isAlone },
      (inside, batch) => processBatch(inside, handlers, batch, check),
      async (error, batch) => {
        await endAttempt(error, batch);
        // Its events are tried alone from now on.
        alone.workNow();
        return [];
      },
    );
    if (!events) return undefined;
    metrics.countProcessed(events, context.now());
    return [0, isAlone ? 1 : maxBatch].includes(events.length) ? 0 : gatherFor;
  }

  /** Ends the failed attempt of this batch, or else of one whose process died; returns whether there was one. */
  async function endAttempt(err: unknown, batch?: Batch): Promise<boolean> {
    const failure = await giveUp(context, batch, err, retries);
    if (failure === undefined || failure === 'separated') return failure !== undefined;
    const { outcome, event } = failure;
    metrics.attemptsFailed.inc({ outcome });
    const { id, provider, eventId, type, customer, attempts } = event;
    const facts = { err, event: id, provider, eventId, type, customer, attempt: attempts + 1 };
    const what = provider === effectProvider ? 'An effect' : 'A webhook event';
    if (outcome === 'failed') log.warn(facts, `${what} failed and will be retried.`);
    else {
      const advice = 'Fix the cause and replay it, or dismiss it.';
      log.error(facts, `${what} failed for the last time and is dead. ${advice}`);
    }
    return true;
  }

  /** Looks again and again: after the pause that the last look returns, or else at the next call or after a second. */
  const repeatLook = (look: () => Promise<number | undefined>) =>
    repeat({
      work: look,
      every: lookEvery,
      cannotTell: () => !database.available(),
      log,
      away: 'The queue cannot be worked on.',
      back: 'The queue is worked on again.',
    });
  const alone = repeatLook(async () => {
    const died = new Error('The process ended, or lost its database.');
    return (await endAttempt(died)) ? 0 : work(true);
  });
  const together = repeatLook(() => work(false));
  calls.events.onCall(together.workNow);
  return {
    endAttempt,
    close: () => Promise.all([together, alone].map(loop => loop.close())),
  };
}

const marked = /_fail_(\d{1,3})$/;

/**
 * Fails the first two attempts of an event whose id ends in `_fail_2`, for example, unless it was replayed. Retries and
 * dead events can thus be tried by hand. It depends on NODE_ENV: in production, somebody who names events at the
 * provider could delay theirs.
 */
function failIfMarked({ eventId, attempts, replays }: IncomingEvent): void {
  const [, times] = marked.exec(eventId ?? '') ?? [];
  if (times !== undefined && replays === 0 && attempts < Number(times))
    throw new Error(`Failed on request, attempt ${attempts + 1} of ${times}.`);
}
