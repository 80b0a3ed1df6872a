import type { Settings } from '../schemas/settings.ts';
import { type Context, type Job, systemContext } from './core/context.ts';
import type { Log } from './core/log.ts';
import { maxBatch } from './database/batch.ts';
import type { Database } from './database/database.ts';
import { trimAudit } from './services/audit.ts';
import type { Metrics } from './telemetry/metrics.ts';
import { trimEvents } from './webhooks/events.ts';
import type { Handlers } from './webhooks/handlers/handler.ts';
import { handlers as known } from './webhooks/handlers/index.ts';
import { type Claimed, claimEvent, failEvent, jobsToDo, processEvents } from './webhooks/processing.ts';
import type { DueJob, WorkQueue } from './webhooks/queue.ts';

interface Parts {
  settings: Pick<Settings, 'WEBHOOK_RETRIES' | 'WEBHOOK_RETENTION_DAYS' | 'AUDIT_RETENTION_DAYS'>;
  database: Database;
  queue: WorkQueue;
  metrics: Metrics;
  log: Log;
  handlers?: Handlers;
  now?: () => Date;
}

const hour = 3_600_000;
const day = 24 * hour;

/**
 * The work behind the webhooks: events are processed as they come, and the old ones are trimmed. Closing finishes
 * what is in hand and leaves the queue open, because requests may still add to it.
 */
export function startJobs(parts: Parts): { close: () => Promise<void> } {
  const { settings, database, queue, log, handlers = known, now = () => new Date() } = parts;
  const context = systemContext({ db: database.writes, queue, log, now }, 'jobs', 'job');
  queue.work((jobs, signal) => doJobs({ ...parts, context, handlers }, jobs, signal));

  let closed = false;
  /** Batch by batch, so that no write waits for long, and the end of the process not either. */
  async function trim(what: string, days: number, deleteBatch: typeof trimEvents) {
    const before = new Date(now().getTime() - days * day);
    let trimmed = 0;
    for (let deleted = -1; deleted !== 0 && !closed; trimmed += deleted)
      deleted = await deleteBatch(context, before);
    if (trimmed > 0) log.info(`Trimmed ${trimmed} ${what}.`);
  }
  async function trimAll() {
    await trim('webhook events', settings.WEBHOOK_RETENTION_DAYS, trimEvents);
    const { AUDIT_RETENTION_DAYS: days } = settings;
    if (days > 0) await trim('entries of the audit log', days, trimAudit);
  }
  let trimming = Promise.resolve();
  const startTrimming = () => {
    trimming = trimAll().catch(report);
  };
  queue.ready.then(startTrimming, () => {});
  const timer = setInterval(startTrimming, hour).unref();
  function report(error: unknown) {
    if (database.available() && !closed) log.error({ err: error }, 'What is old cannot be trimmed.');
  }
  return {
    close: async () => {
      closed = true;
      clearInterval(timer);
      await Promise.all([queue.rest(), trimming]);
    },
  };
}

interface Means extends Omit<Parts, 'database' | 'queue'> {
  context: Context;
  handlers: Handlers;
}

/** Why a job must be tried again; nothing when it is done, one way or the other. */
type Outcome = string | undefined;

/** Does together what is begun for the first time, and the rest each for itself. */
async function doJobs(means: Means, jobs: DueJob[], signal: AbortSignal): Promise<Outcome[]> {
  const done = await doTogether(
    means,
    jobs.filter(({ again }) => !again),
  );
  const left = jobs.filter(({ event }) => !done.has(event));
  const due = left.length > 1 ? await jobsToDo(means.context, left) : left;
  const outcomes = new Map<string, Outcome>();
  // An event may have ended the process. Alone and in any order, its neighbours get past it sooner or later.
  for (const job of due.toSorted(() => Math.random() - 0.5)) {
    const event = signal.aborted ? undefined : await claimEvent(means.context, job);
    if (event) outcomes.set(job.event, await doAlone(means, event));
    else if (signal.aborted) outcomes.set(job.event, 'not reached in time');
  }
  return jobs.map(job => outcomes.get(job.event));
}

/** The events that it did: of those in one transaction all or none. */
async function doTogether({ context, handlers, metrics, log }: Means, jobs: Job[]): Promise<Set<string>> {
  const done = new Set<string>();
  for (let first = 0; first < jobs.length; first += maxBatch) {
    const some = jobs.slice(first, first + maxBatch);
    if (some.length === 1) continue;
    try {
      const processed = await processEvents(context, handlers, some, 'received');
      for (const { event } of processed) done.add(event);
    } catch (error) {
      log.debug({ err: error }, 'One event of several failed: each is done for itself.');
    }
  }
  metrics.eventsProcessed.inc(done.size);
  return done;
}

async function doAlone(means: Means, event: Claimed): Promise<Outcome> {
  const { context, handlers, settings, metrics } = means;
  // Counted, but not noted as failed: the process ended during the last attempts.
  if (event.attempts > settings.WEBHOOK_RETRIES + 1)
    return fail(means, event, new Error('the process ended during the attempt'));
  try {
    const processed = await processEvents(context, handlers, [event], 'processing');
    metrics.eventsProcessed.inc(processed.length);
  } catch (error) {
    return fail(means, event, error);
  }
}

async function fail(means: Means, event: Claimed, error: unknown): Promise<Outcome> {
  const { context, settings, metrics, log } = means;
  const state = await failEvent(context, event, error, settings.WEBHOOK_RETRIES);
  metrics.attemptsFailed.inc({ outcome: state });
  const { event: id, eventId, type, attempts: attempt } = event;
  const facts = { err: error, event: id, eventId, type, attempt };
  if (state === 'failed') {
    log.warn(facts, 'A webhook event failed and will be tried again.');
    return 'tried and failed';
  }
  log.error(facts, 'A webhook event failed for the last time and is dead. Fix the cause and replay it.');
}
