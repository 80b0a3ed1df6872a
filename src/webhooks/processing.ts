import { and, eq, inArray, sql } from '../../drizzle/orm.ts';
import { webhookEvents } from '../../drizzle/tables/webhookEvents.ts';
import type { EventStatus } from '../../schemas/event.ts';
import { need } from '../access/need.ts';
import type { Context, Job } from '../core/context.ts';
import { truncateForColumn } from '../core/text.ts';
import { orm } from '../database/connection.ts';
import { databaseFailure } from '../database/databaseErrors.ts';
import { type Row, statement } from '../database/statements/statement.ts';
import { commitOnAllNodes, inTransaction, waitLongerForLocks } from '../database/transaction.ts';
import type { StatusEvent } from '../services/subscriptions/applyEvents.ts';
import { changeSubscriptions } from '../services/subscriptions/changeSubscriptions.ts';
import { eventAttributes, inSpan } from '../telemetry/tracing.ts';
import { unfinishedStatuses } from './eventJobs.ts';
import { fingerprintsOf, hasFingerprint } from './fingerprints.ts';
import { type Handlers, handlerFor } from './handlers/handler.ts';

/*
 * The status of an event:
 *
 *   delivery --+--> received --------- in a batch ---------> processed
 *              |        |                                        ^
 *              |        | claim                                  |
 *              |        v                                        |
 *              |    processing ------------- alone --------------+
 *              |      |  ^   |
 *              |      v  |   +-- after the last retry --> dead
 *              |     failed
 *              |
 *              +--> ignored: no handler, or no usable customer; the reason says which
 *
 * A replay makes a failed, dead or ignored event `received` again. Each replay begins a new round, which voids older jobs.
 */

const { id, fingerprint, attempts, replays, status } = webhookEvents;
const { eventId, provider, preset, type, customer, occurredAt, createdAt } = webhookEvents;
const handlerColumns = { eventId, provider, preset, type, customer, occurredAt, createdAt };
const claimed = { id, fingerprint, round: replays, attempts, ...handlerColumns };

/** An event that a worker has begun to process. */
export type Claimed = Row<typeof claimed>;

const time = sql`${sql.placeholder('time')}::timestamptz`;
const jobsGiven = sql`json_to_recordset(${sql.placeholder('jobs')}::text::json) as job (event uuid, round integer)`;
const ofItsRound = and(eq(id, sql`job.event`), eq(replays, sql`job.round`), hasFingerprint);
const valuesOf = (jobs: Job[]) => ({ jobs: JSON.stringify(jobs), fingerprints: fingerprintsOf(jobs) });
// Not by the index of the status, which leads through every event that ever had it since the last vacuum.
const state = sql`${status} || ''`;

const unfinished = inArray(state, unfinishedStatuses);

const claim = statement(claimed, (builder, columns) =>
  builder
    .update(webhookEvents)
    .set({ status: 'processing', attempts: sql`${attempts} + 1`, updatedAt: time })
    .from(jobsGiven)
    .where(and(ofItsRound, unfinished))
    .returning(columns),
);

/**
 * Begins an attempt at an event, unless it is done. The attempt is counted now, so that an event that kills the process
 * is not retried forever, and alone, so that other events are not counted with it.
 */
export async function claimEvent(context: Context, job: Job): Promise<Claimed | undefined> {
  need(context, 'admin');
  const values = { ...valuesOf([job]), time: context.now().toISOString() };
  const [event] = await claim(context.db, values);
  return event;
}

const find = (from: EventStatus[]) =>
  statement(claimed, (builder, columns) =>
    builder
      .select(columns)
      .from(webhookEvents)
      .innerJoin(jobsGiven, and(ofItsRound, inArray(state, from))),
  );
const findIn = {
  received: find(['received']),
  // Another worker may have failed the event meanwhile: it is still to be done.
  processing: find(['processing', 'failed']),
};

const finish = statement({ id }, (builder, columns) =>
  builder
    .update(webhookEvents)
    .set({
      status: sql`case when job.ignored then 'ignored' else 'processed' end`,
      reason: sql`job.reason`,
      // That of a claim is counted.
      attempts: sql`${attempts} + (${status} = 'received')::integer`,
      lastError: null,
      updatedAt: time,
      processedAt: sql`case when job.ignored then null else ${time} end`,
    })
    .from(
      sql`json_to_recordset(${sql.placeholder('done')}::text::json)
        as job (event uuid, round integer, ignored boolean, reason text)`,
    )
    .where(and(ofItsRound, unfinished))
    .returning(columns),
);

/** Another worker finished an event meanwhile, so its effect must be rolled back here. */
class Overtaken extends Error {}

/**
 * Processes all of these events or none, and returns those that were not done yet. Events that are `received` need no
 * claim: their attempt is counted when it succeeds.
 */
export async function processEvents(
  context: Context,
  handlers: Handlers,
  jobs: Job[],
  from: 'received' | 'processing',
): Promise<Claimed[]> {
  need(context, 'admin');
  async function work(inside: Context) {
    // A batch may wait for others with the same customers. If it gave up, each event would be processed alone.
    await waitLongerForLocks(inside.db);
    await commitOnAllNodes(inside.db);
    // Not locked, which would cost as much as the update: the update decides.
    const events = await findIn[from](inside.db, valuesOf(jobs));
    const done = await handleEvents(inside, handlers, events);
    const time = inside.now().toISOString();
    const fingerprints = fingerprintsOf(jobs);
    const finished = await finish(inside.db, { done: JSON.stringify(done), fingerprints, time });
    if (finished.length < events.length) throw new Overtaken();
    return events;
  }
  try {
    return await inSpans(jobs, () => inTransaction(context, work, { forSeveral: jobs.length > 1 }));
  } catch (error) {
    if (error instanceof Overtaken && jobs.length === 1) return [];
    throw error;
  }
}

interface Done extends Pick<Job, 'event' | 'round'> {
  ignored?: boolean;
  /** Why it had no effect. */
  reason: string | undefined;
}

async function handleEvents(context: Context, handlers: Handlers, events: Claimed[]): Promise<Done[]> {
  const ignored = new Set<Claimed>();
  const statuses: StatusEvent[] = [];
  const reasons = new Map<string, string>();
  for (const [handler, own] of Map.groupBy(events, event => handlerFor(handlers, event))) {
    if (typeof handler === 'string') {
      // Replayed, or received by a version that had a handler.
      for (const event of own) {
        ignored.add(event);
        reasons.set(event.id, handler);
      }
      continue;
    }
    const effects = await handler.handle(context, own);
    statuses.push(...(effects.statuses ?? []));
    for (const [id, reason] of effects.reasons ?? []) reasons.set(id, reason);
  }
  if (statuses.length > 0)
    for (const [id, reason] of await changeSubscriptions(context, statuses)) reasons.set(id, reason);
  return events.map(event => ({
    event: event.id,
    round: event.round,
    ignored: ignored.has(event),
    reason: reasons.get(event.id),
  }));
}

/** Does work as a part of the trace of each event. */
function inSpans<T>(jobs: Job[], work: () => Promise<T>): Promise<T> {
  let nested = work;
  for (const { event, eventId, trace } of jobs) {
    const inner = nested;
    const options = { parent: trace, attributes: eventAttributes(event, eventId) };
    nested = () => inSpan('process webhook event', options, inner);
  }
  return nested();
}

/**
 * Records a failed attempt and returns the new status. When another worker has begun a later attempt meanwhile, nothing
 * is recorded: the outcome is up to that attempt.
 */
export async function failEvent(
  context: Context,
  event: Claimed,
  error: unknown,
  retries: number,
): Promise<'failed' | 'dead'> {
  need(context, 'admin');
  const next = event.attempts > retries ? 'dead' : 'failed';
  const updatedAt = context.now().toISOString();
  const lastError = describe(error);
  const failure = JSON.stringify([{ attempt: event.attempts, at: updatedAt, error: lastError }]);
  const failures = sql`${webhookEvents.failures} || ${failure}::text::jsonb`;
  const ofAttempt = and(
    eq(fingerprint, event.fingerprint),
    eq(id, event.id),
    eq(replays, event.round),
    eq(attempts, event.attempts),
  );
  const recorded = await orm(context.db)
    .update(webhookEvents)
    .set({ status: next, lastError, failures, updatedAt })
    .where(and(ofAttempt, eq(status, 'processing')))
    .returning({ id });
  return recorded.length > 0 ? next : 'failed';
}

/** What the API shows. A failed statement and its values stay in the log. */
function describe(error: unknown): string {
  const failure = databaseFailure(error);
  if (failure) return `database error ${failure.code}`;
  return truncateForColumn(error instanceof Error ? error.message : String(error), 500);
}
