import { and, count, eq, getTableColumns, inArray, lt, type SQL, sql } from '#drizzle/orm.ts';
import { webhookEvents } from '#drizzle/tables/service/webhookEvents.ts';
import {
  dismissible,
  type EventQuery,
  type ReplayFilter,
  replayable,
  type WebhookEvent,
  type WebhookEventDetail,
} from '#schemas/service/webhookEvent.ts';
import type { Context } from '#src/access/context.ts';
import { need } from '#src/access/need.ts';
import { effectProvider } from '#src/config/providers.ts';
import { conflict } from '#src/core/conflicts.ts';
import { notFound, orNotFound } from '#src/core/errors.ts';
import { isId, lowestId } from '#src/core/ids.ts';
import { orm } from '#src/database/connection.ts';
import { deleteBatch } from '#src/database/statements/deleteBatch.ts';
import { inTransaction } from '#src/database/write.ts';
import { recordWrites } from '#src/records/audit.ts';
import { PagedList } from '#src/records/lists/pagedList.ts';
import { fingerprintOf } from './envelope.ts';
import { dequeue, enqueue, type Key, lockInQueue } from './queue.ts';

const { fingerprint, preset: _, traceparent, ...detailed } = getTableColumns(webhookEvents);
const { id, provider, type, customer, status, updatedAt } = detailed;
const traceId = sql<string | null>`split_part(${traceparent}, '-', 2)`;
const { body, failures, replays, ...columns } = detailed;

type Filter = 'event' | 'customer' | 'type' | 'status' | 'provider';
const list = new PagedList<WebhookEvent, Filter, 'createdAt'>({
  scope: 'admin',
  table: webhookEvents,
  columns,
  filters: {
    event: { indexed: fingerprint, of: value => sql`decode(${value}, 'hex')` },
    customer,
    type,
    status,
    provider,
  },
  indexed: ['event', 'customer', 'status', 'type'],
});

/** A page of events, without their bodies, the newest first. */
export const listEvents = (context: Context, { event, ...query }: EventQuery) =>
  list.byCursor(context, {
    ...query,
    // The column of the provider's event id has no index, but the fingerprint of the id has one.
    ...(event !== undefined && { event: fingerprintOf(event).slice(2) }),
  });

/** One event with its body and its failed attempts. */
export async function getEvent(context: Context, event: string): Promise<WebhookEventDetail> {
  need(context, 'admin');
  if (!isId(event)) throw notFound('Webhook event');
  const rows = await orm(context.db)
    .select({ ...detailed, traceId })
    .from(webhookEvents)
    .where(eq(id, event));
  const stored = orNotFound('Webhook event', rows[0]);
  return { ...stored, body: stored.body.toString('utf8') };
}

/** What an operator does with events that are in one of these states. */
type Action = typeof replay | typeof dismissal;
export const replay = {
  name: 'replay',
  done: 'replayed',
  from: replayable,
  conflict: conflict('not_replayable', {
    summary: 'The event is not in a state that can be replayed',
    message: ({ status }) => `The event is ${status}; replayable are: ${replayable.join(', ')}.`,
    example: { status: 'processed' },
  }),
  queue: enqueue,
  set: { status: 'received', attempts: 0, reason: null, replays: sql`${replays} + 1` },
} as const;
export const dismissal = {
  name: 'dismiss',
  done: 'dismissed',
  from: dismissible,
  conflict: conflict('not_dismissible', {
    summary: 'The event is not in a state that can be dismissed',
    message: ({ status }) => `The event is ${status}; dismissible are: ${dismissible.join(', ')}.`,
    example: { status: 'processed' },
  }),
  queue: dequeue,
  set: { status: 'dismissed' },
} as const;

/** Acts on one event; throws a conflict when its status does not allow it. */
export async function actOnEvent(context: Context, action: Action, event: string) {
  need(context, 'admin');
  if (!isId(event)) throw notFound('Webhook event');
  return inTransaction(context, async inside => {
    const { changed } = await act(inside, action, eq(id, event));
    const stored = await getEvent(inside, event);
    if (changed > 0) return stored;
    throw action.conflict({ status: stored.status });
  });
}

/** The most events that one transaction acts on, and that one call acts on. */
const step = 500;
const mostInCall = 10_000;

/** Acts on matching events, oldest first, up to a maximum; returns how many it changed and how many remain. */
export async function actOnEvents(context: Context, action: Action, choice: ReplayFilter) {
  need(context, 'admin');
  const { dryRun, status: state, ...equal } = choice;
  // An event that fails again during the call is not replayed a second time.
  const isOlder = action === replay ? lt(updatedAt, context.now().toISOString()) : undefined;
  const matching = and(
    isOlder,
    inArray(status, state ? [state] : ['failed', 'dead']),
    ...Object.entries(equal).map(([name, value]) => eq(webhookEvents[name as keyof typeof equal], value)),
  );
  let done = 0;
  while (!dryRun && done < mostInCall) {
    const { found, changed } = await inTransaction(context, inside => act(inside, action, matching));
    // Goes on when none was changed: another call may have been faster with those that were found.
    if (found === 0) break;
    done += changed;
  }
  const [left] = await orm(context.db).select({ total: count() }).from(webhookEvents).where(matching);
  return { [action.done]: done, remaining: left?.total ?? 0 };
}

/** The body of an effect; null for another event. */
const bodyOfEffect = sql<Buffer | null>`case ${provider} when ${effectProvider} then ${body} end`.mapWith(
  body,
);

/** The row in the queue. The body of an effect has its place there, which Citus would not read from it. */
function queueRow({
  bodyOfEffect,
  type,
  ...row
}: Key & { bodyOfEffect: Buffer | null; type: string | null }) {
  if (!bodyOfEffect) return row;
  const { id: record, version } = JSON.parse(bodyOfEffect.toString());
  return { ...row, effect: type, record, version };
}

/** Acts on the first of these events, if their state allows it, once no worker processes them. */
async function act(inside: Context, { name, from, set, queue }: Action, matching: SQL | undefined) {
  const { db, now } = inside;
  const key = { id, fingerprint, provider };
  const found = await orm(db).select(key).from(webhookEvents).where(matching).orderBy(id).limit(step);
  await lockInQueue(db, found);
  const isFound = inArray(
    id,
    found.map(({ id }) => id),
  );
  const changed = await orm(db)
    .update(webhookEvents)
    .set({ ...set, updatedAt: now().toISOString() })
    // The events may match no longer: one that was dismissed meanwhile is not dead any more.
    .where(and(isFound, matching, inArray(status, [...from])))
    .returning({ ...key, customer, type, bodyOfEffect });
  if (changed.length > 0) await queue(db, changed.map(queueRow));
  const writes = changed.map(({ id }) => ({ recordId: id }));
  await recordWrites(inside, `event.${name}`, writes);
  return { found: found.length, changed: changed.length };
}

/** Deletes a batch of the processed, ignored and dismissed events received before a time; returns how many. */
export async function trimEvents(context: Context, before: Date): Promise<number> {
  need(context, 'admin');
  // Ids begin with the time, so the primary key finds old events.
  const matching = sql`${lt(id, lowestId(before))} and ${inArray(status, ['processed', 'ignored', 'dismissed'])}`;
  return deleteBatch(context.db, { key: id, matching });
}
