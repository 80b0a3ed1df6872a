import { DrizzleQueryError, eq, sql } from '#drizzle/orm.ts';
import { webhookEvents } from '#drizzle/tables/service/webhookEvents.ts';
import type { Context } from '#src/access/context.ts';
import { need } from '#src/access/need.ts';
import { effectProvider } from '#src/config/providers.ts';
import { truncateForColumn } from '#src/core/text.ts';
import { orm } from '#src/database/connection.ts';
import { databaseFailure } from '#src/database/databaseErrors.ts';
import { arrayText } from '#src/database/statements/insertRows.ts';
import { statement } from '#src/database/statements/statement.ts';
import { inTransaction, waitLongerForLocks } from '#src/database/write.ts';
import type { StatusEvent } from '#src/subscriptions/applyEvents.ts';
import { changeSubscriptions } from '#src/subscriptions/changeSubscriptions.ts';
import { eventAttributes, inSpan, isTracing } from '#src/telemetry/tracing.ts';
import { type Handlers, handlerFor, type IncomingEvent, incomingColumns } from './handler.ts';
import {
  type Batch,
  claimEvents,
  dequeue,
  endBatch,
  endDeadBatch,
  eventKeyOf,
  hasFingerprint,
  type Key,
  lockInQueue,
  postpone,
} from './queue.ts';

/*
 * The status of an event:
 *
 *   delivery --+--> received --+--> processed
 *              |      ^   |    |
 *              |      |   +----+--> failed ----> (again, later) ----> dead
 *              |      |              |   |                             |
 *              |      |              |   +-----> dismissed <-----------+
 *              |      |              |             |                   |
 *              |      +---- replay --+-------------+-------------------+
 *              |      |
 *              +--> ignored: no type, no handler, or no usable customer; the reason says which
 */

const { id, fingerprint, attempts } = incomingColumns;
export const findEvents = statement(incomingColumns, (builder, columns) =>
  builder.select(columns).from(webhookEvents).where(hasFingerprint),
);

/**
 * Applies the effects of a batch, all or none, and returns the events that it processed: none if another process has
 * given the batch up. If the check of an event throws, the batch fails.
 */
export async function processBatch(
  context: Context,
  handlers: Handlers,
  batch: Batch,
  check: (event: IncomingEvent) => void = () => {},
): Promise<IncomingEvent[]> {
  need(context, 'admin');
  async function work(inside: Context) {
    // Sends all at once. The claim ends the batch, with this transaction.
    const [, claimed, found] = await Promise.all([
      waitLongerForLocks(inside.db),
      claimEvents(inside.db, batch.id),
      findEvents(inside.db, { fingerprints: batch.fingerprints }),
    ]);
    const free = new Set(claimed.filter(({ isFree }) => isFree).map(eventKeyOf));
    const events = found.filter(event => free.has(eventKeyOf(event)));
    if (events.length < free.size) throw new NotShown('The database does not show all events.');
    // Events of busy customers must not come first at the next look.
    const busy = claimed.filter(({ isFree }) => !isFree);
    if (busy.length > 0) await postpone(inside.db, busy, pauseSeconds);
    events.forEach(check);
    if (events.length > 0) await inSpans(events, () => handleEvents(inside, handlers, events));
    return events;
  }
  return inTransaction(context, work);
}

/** A node of Citus that has crashed does not show its events yet. Each is then tried alone, and no attempt counts. */
class NotShown extends Error {}

/** Seconds until the next look at events that could not be processed now. */
const pauseSeconds = 0.5;

const finish = statement({}, builder => {
  const arrays = ['ids', 'statuses', 'reasons'].map(name => sql`${sql.placeholder(name)}::text[]`);
  const time = sql`${sql.placeholder('time')}::timestamptz`;
  return builder
    .update(webhookEvents)
    .set({
      status: sql`done.status`,
      reason: sql`done.reason`,
      attempts: sql`${attempts} + 1`,
      lastError: null,
      updatedAt: time,
      processedAt: sql`case done.status when 'processed' then ${time} end`,
    })
    .from(sql`unnest(${sql.join(arrays, sql`, `)}) as done (id, status, reason)`)
    .where(sql`${id} = done.id::uuid and ${hasFingerprint}`);
});

async function handleEvents(context: Context, handlers: Handlers, events: IncomingEvent[]): Promise<void> {
  const ignored = new Set<IncomingEvent>();
  const changes: StatusEvent[] = [];
  const reasons = new Map<string, string>();
  for (const [handler, own] of Map.groupBy(events, event => handlerFor(handlers, event))) {
    if (typeof handler === 'string') {
      // An event without a handler gets here if it was replayed, or received by a version that had one.
      for (const event of own) {
        ignored.add(event);
        reasons.set(event.id, handler);
      }
      continue;
    }
    const outcome = await handler.handle(context, own);
    changes.push(...(outcome.statuses ?? []));
    for (const [id, reason] of outcome.reasons ?? []) reasons.set(id, reason);
  }
  if (changes.length > 0)
    for (const [id, reason] of await changeSubscriptions(context, changes)) reasons.set(id, reason);
  const done = {
    ids: arrayText(events.map(({ id }) => id)),
    statuses: arrayText(events.map(event => (ignored.has(event) ? 'ignored' : 'processed'))),
    reasons: arrayText(events.map(({ id }) => reasons.get(id))),
    fingerprints: arrayText(events.map(({ fingerprint }) => fingerprint)),
    time: context.now().toISOString(),
  };
  await finish(context.db, done);
}

/** Does work as a part of the trace of each event. */
function inSpans(events: IncomingEvent[], work: () => Promise<void>): Promise<void> {
  if (!isTracing()) return work();
  return events.reduceRight((inner, { id, eventId, traceparent }) => {
    const options = { parent: traceparent ?? undefined, attributes: eventAttributes(id, eventId) };
    return () => inSpan('process webhook event', options, inner);
  }, work)();
}

/** How often a failed event is retried, and the most seconds before the first retry. Each further one doubles them. */
type Retries = Record<'most' | 'delay', number>;
const maxDelay = 3600;

/**
 * Ends a batch that failed or, if none is named, one whose process died. A single event has failed its attempt; of
 * several, each is then tried alone, and the result is `separated`. Returns undefined if no event was left or visible.
 */
export async function giveUp(context: Context, batch: Batch | undefined, error: unknown, retries: Retries) {
  need(context, 'admin');
  return inTransaction(context, async inside => {
    const ended = await (batch ? endBatch(inside.db, batch.id) : endDeadBatch(inside.db));
    if (!ended) return undefined;
    // Leaves out the events that an operator has dismissed or replayed since the batch began.
    const left = await lockInQueue(inside.db, ended.keys, ended.begun);
    const [key] = left;
    if (!key) return undefined;
    if (ended.keys.length === 1) return failEvent(inside, key, error, retries, batch === undefined);
    await postpone(inside.db, left, 0, true);
    return 'separated' as const;
  });
}

async function failEvent(inside: Context, key: Key, error: unknown, retries: Retries, hasDied: boolean) {
  const { db, now } = inside;
  const found = await findEvents(db, { fingerprints: arrayText([key.fingerprint]) });
  const event = found.find(({ provider }) => provider === key.provider);
  if (!event || error instanceof NotShown) {
    await postpone(db, [key], pauseSeconds);
    return undefined;
  }
  const attempt = event.attempts + 1;
  const outcome = attempt > retries.most ? ('dead' as const) : ('failed' as const);
  const at = now().toISOString();
  const lastError = describe(error, key.provider === effectProvider);
  const failure = JSON.stringify([{ round: event.replays, attempt, at, error: lastError }]);
  const failures = sql`${webhookEvents.failures} || ${failure}::text::jsonb`;
  await orm(db)
    .update(webhookEvents)
    .set({ status: outcome, attempts: attempt, lastError, failures, updatedAt: at })
    .where(sql`${eq(id, event.id)} and ${eq(fingerprint, event.fingerprint)}`);
  const wait = Math.min(retries.delay * 2 ** event.attempts, maxDelay) * (0.5 + Math.random() / 2);
  if (outcome === 'dead') await dequeue(db, [key]);
  // An effect whose process died, perhaps for another reason, stays due and keeps its turn.
  else if (!hasDied || key.provider !== effectProvider) await postpone(db, [key], wait, true);
  return { event, outcome };
}

/** The error as the API shows it. A failed statement and its values stay in the log. */
function describe(error: unknown, isEffect: boolean): string {
  const failure = databaseFailure(error);
  // Other services that an effect calls have errors with such codes, too.
  if (failure && (!isEffect || isOfDatabase(error))) return `database error ${failure.code}`;
  const { message = String(error), cause } = error instanceof Error ? error : {};
  return truncateForColumn(cause instanceof Error ? `${message}: ${cause.message}` : message, 500);
}

const isOfDatabase = (error: unknown, depth = 0): boolean =>
  error instanceof Error &&
  (error instanceof DrizzleQueryError ||
    'severity' in error ||
    (depth < 10 && isOfDatabase(error.cause, depth + 1)));
