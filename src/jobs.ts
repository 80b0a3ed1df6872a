import type { Settings } from '../schemas/settings.ts';
import type { Context } from './core/context.ts';
import type { Counters } from './core/counters.ts';
import type { Database } from './core/database.ts';
import type { Log } from './core/log.ts';
import type { Job, WorkQueue } from './core/queue.ts';
import { trimEvents } from './services/events.ts';
import { type Handlers, handlers as known } from './services/handlers/index.ts';
import { type Claimed, claimEvents, failEvent, processEvents } from './services/processing.ts';

interface Parts {
  settings: Pick<Settings, 'WEBHOOK_RETRIES' | 'WEBHOOK_RETENTION_DAYS'>;
  database: Database;
  queue: WorkQueue;
  counters: Counters;
  log: Log;
  handlers?: Handlers;
  now?: () => Date;
}

const hour = 3_600_000;
const day = 24 * hour;

/** The work behind the webhooks: events are processed as they come, and the old ones are trimmed. */
export function startJobs(parts: Parts): { close: () => Promise<void> } {
  const { settings, database, queue, log, handlers = known, now = () => new Date() } = parts;
  const context: Context = { db: database.orm, now };
  queue.work(jobs => doJobs({ ...parts, context, handlers }, jobs));

  let closed = false;
  async function trim() {
    const before = new Date(now().getTime() - settings.WEBHOOK_RETENTION_DAYS * day);
    let trimmed = 0;
    for (let deleted = -1; deleted !== 0 && !closed; trimmed += deleted)
      deleted = await trimEvents(context, before);
    if (trimmed > 0) log.info(`Trimmed ${trimmed} webhook events.`);
  }
  let trimming: Promise<void> = queue.ready.then(trim).catch(report);
  const timer = setInterval(() => {
    trimming = trim().catch(report);
  }, hour).unref();
  function report(error: unknown) {
    if (database.available() && !closed) log.error({ err: error }, 'Old webhook events cannot be trimmed.');
  }
  return {
    close: async () => {
      closed = true;
      clearInterval(timer);
      await Promise.all([queue.close(), trimming]);
    },
  };
}

interface Means extends Omit<Parts, 'database' | 'queue'> {
  context: Context;
  handlers: Handlers;
}

/** Does jobs together where it can; where one fails, each for itself. */
async function doJobs(means: Means, jobs: Job[]): Promise<(string | undefined)[]> {
  const { context, handlers, settings, counters } = means;
  const claimed = await claimEvents(context, jobs);
  // A count above the limit means that the process ended during the last attempts: that is a failure too.
  const [spent, due] = [claimed.filter(isSpent), claimed.filter(event => !isSpent(event))];
  function isSpent({ attempts }: Claimed) {
    return attempts > settings.WEBHOOK_RETRIES + 1;
  }
  const failed = new Map<string, string>();
  for (const event of spent) await fail(means, event, new Error('the process ended during the attempt'));
  try {
    // One order for all, so that two workers with events of the same customers do not lock crosswise.
    due.sort((a, b) => ((a.customer ?? '') < (b.customer ?? '') ? -1 : 1));
    await processEvents(context, handlers, due);
  } catch (error) {
    for (const event of due) {
      const reason = await doOne(means, event, due.length === 1 ? error : undefined);
      if (reason) failed.set(event.id, reason);
    }
  }
  const done = due.length - failed.size;
  if (done > 0) counters.add('webhook_events_processed_total', {}, done);
  return jobs.map(job => failed.get(job.event));
}

/** Why the event must be tried again, if it must. */
async function doOne(means: Means, event: Claimed, known: unknown): Promise<string | undefined> {
  try {
    if (known) throw known;
    await processEvents(means.context, means.handlers, [event]);
    return undefined;
  } catch (error) {
    return fail(means, event, error);
  }
}

async function fail(means: Means, event: Claimed, error: unknown): Promise<string | undefined> {
  const { context, settings, counters, log } = means;
  const outcome = await failEvent(context, event, error, settings.WEBHOOK_RETRIES);
  counters.add('webhook_attempts_failed_total', { outcome });
  const facts = { err: error, event: event.id, type: event.type, attempt: event.attempts };
  if (outcome === 'dead')
    log.error(
      facts,
      'A webhook event is dead: it was tried for the last time. Mend the cause and replay it.',
    );
  else log.warn(facts, 'A webhook event failed and will be tried again.');
  return outcome === 'dead' ? undefined : 'tried and failed';
}
