import type { Settings } from '../schemas/settings.ts';
import { type Context, type Job, systemContext } from './core/context.ts';
import type { Log } from './core/log.ts';
import { maxBatch } from './database/concurrency/batch.ts';
import type { Database } from './database/database.ts';
import { isLockedOut } from './database/databaseErrors.ts';
import { trimAudit } from './services/audit.ts';
import { keptDays, trimKeys } from './services/idempotency.ts';
import type { Metrics } from './telemetry/metrics.ts';
import { unfinishedJobs, withFingerprints } from './webhooks/eventJobs.ts';
import { trimEvents } from './webhooks/events.ts';
import { failOnRequest } from './webhooks/handlers/failing.ts';
import type { Handlers } from './webhooks/handlers/handler.ts';
import { handlers as allHandlers } from './webhooks/handlers/index.ts';
import { type Claimed, claimEvent, failEvent, processEvents } from './webhooks/processing.ts';
import type { DueJob, WorkQueue } from './webhooks/queue.ts';

interface Parts {
  settings: Settings;
  database: Database;
  queue: WorkQueue;
  metrics: Metrics;
  log: Log;
  handlers?: Handlers;
  now?: () => Date;
}

/** Processes events as they come, and trims old records. Closing leaves the queue open: requests may still add to it. */
export function startJobs(parts: Parts): { close: () => Promise<void> } {
  const { settings, database, queue, metrics, log, now = () => new Date() } = parts;
  const { handlers: given = allHandlers } = parts;
  const handlers = settings.NODE_ENV === 'development' ? failOnRequest(given) : given;
  const context = systemContext({ db: database.writes, queue, log, now }, 'jobs', 'job');
  const { WEBHOOK_RETRIES: retries } = settings;
  queue.work((jobs, signal) => doJobs({ context, handlers, metrics, retries }, jobs, signal));
  const stopTrimming = startTrimming(context, settings, database);
  return { close: async () => void (await Promise.all([queue.rest(), stopTrimming()])) };
}

const hour = 3_600_000;
const day = 24 * hour;

/** Trims every hour; returns what stops it after the current batch. */
function startTrimming(context: Context, settings: Parts['settings'], database: Database) {
  const { WEBHOOK_RETENTION_DAYS: eventDays, AUDIT_RETENTION_DAYS: auditDays } = settings;
  let stopped = false;
  /** In batches, so that no write waits for long. */
  async function trim(what: string, days: number, deleteBatch: typeof trimEvents) {
    const before = new Date(context.now().getTime() - days * day);
    let trimmed = 0;
    for (let deleted = -1; deleted !== 0 && !stopped; trimmed += deleted)
      deleted = await deleteBatch(context, before);
    if (trimmed > 0) context.log.info(`Trimmed ${trimmed} ${what}.`);
  }
  async function trimAll() {
    try {
      await trim('webhook events', eventDays, trimEvents);
      await trim('idempotency keys', keptDays, trimKeys);
      if (auditDays > 0) await trim('audit log entries', auditDays, trimAudit);
    } catch (error) {
      // Another process is trimming.
      if (isLockedOut(error)) return;
      if (database.available()) context.log.error({ err: error }, 'Old records cannot be trimmed.');
    }
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

interface Work {
  context: Context;
  handlers: Handlers;
  metrics: Metrics;
  retries: number;
}

/** Why a job must be retried; undefined when it is done, one way or the other. */
type Outcome = string | undefined;

/** Processes new events in batches, and what is left one by one. */
async function doJobs(work: Work, given: DueJob[], signal: AbortSignal): Promise<Outcome[]> {
  const jobs = await withFingerprints(work.context, given);
  const fresh = jobs.filter(({ again }) => !again);
  const done = await doTogether(work, fresh);
  const outcomes = new Map<string, Outcome>();
  const rest = jobs.filter(({ event }) => !done.has(event));
  // Most of a retried group is done, and an older round would hide the outcome of the round in force.
  const left = await unfinishedJobs(work.context, rest);
  // In random order: an event that kills the process each time must not keep the same others from their turn.
  for (const job of left.toSorted(() => Math.random() - 0.5))
    outcomes.set(job.event, signal.aborted ? 'not reached in time' : await doAlone(work, job));
  return jobs.map(({ event }) => outcomes.get(event));
}

/** Returns the events that were processed. */
async function doTogether({ context, handlers, metrics }: Work, jobs: Job[]): Promise<Set<string>> {
  const done = new Set<string>();
  for (let first = 0; first < jobs.length; first += maxBatch) {
    const some = jobs.slice(first, first + maxBatch);
    if (some.length === 1) continue;
    try {
      for (const { id } of await processEvents(context, handlers, some, 'received')) done.add(id);
    } catch (error) {
      context.log.debug({ err: error }, 'A batch of events failed; each is now processed alone.');
    }
  }
  metrics.eventsProcessed.inc(done.size);
  return done;
}

async function doAlone(work: Work, job: Job): Promise<Outcome> {
  const { context, handlers, metrics, retries } = work;
  const event = await claimEvent(context, job);
  if (!event)
    return (await unfinishedJobs(context, [job])).length > 0 ? 'its event is not there yet' : undefined;
  // The attempts were counted but never recorded as failed.
  if (event.attempts > retries + 1)
    return fail(work, event, new Error('the process ended during the attempt'));
  try {
    const processed = await processEvents(context, handlers, [job], 'processing');
    metrics.eventsProcessed.inc(processed.length);
  } catch (error) {
    return fail(work, event, error);
  }
}

async function fail({ context, metrics, retries }: Work, event: Claimed, error: unknown): Promise<Outcome> {
  const outcome = await failEvent(context, event, error, retries);
  metrics.attemptsFailed.inc({ outcome });
  const { id, provider, eventId, type, customer, attempts: attempt } = event;
  const facts = { err: error, event: id, provider, eventId, type, customer, attempt };
  if (outcome === 'failed') {
    context.log.warn(facts, 'A webhook event failed and will be retried.');
    return 'failed';
  }
  context.log.error(
    facts,
    'A webhook event failed for the last time and is dead. Fix the cause and replay it.',
  );
}
