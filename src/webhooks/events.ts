import { and, count, eq, getTableColumns, inArray, lt, sql } from '../../drizzle/orm.ts';
import { webhookEvents } from '../../drizzle/tables/webhookEvents.ts';
import {
  type Dismissed,
  type DismissFilter,
  dismissible,
  type EventQuery,
  type Replayed,
  type ReplayFilter,
  replayable,
  type WebhookEvent,
  type WebhookEventDetail,
} from '../../schemas/event.ts';
import { need } from '../access/need.ts';
import { conflict } from '../core/conflicts.ts';
import type { Context } from '../core/context.ts';
import { notFound, orNotFound } from '../core/errors.ts';
import { isId, lowestId } from '../core/ids.ts';
import { orm } from '../database/connection.ts';
import { deleteBatch } from '../database/statements/deleteBatch.ts';
import { inTransaction } from '../database/write.ts';
import { recordWrites } from '../services/audit.ts';
import { PagedList } from '../services/lists/pagedList.ts';
import { fingerprintOf } from './envelope.ts';
import { dequeue, enqueue, lockInQueue } from './queue.ts';

const { fingerprint, preset: _, traceparent, ...detailed } = getTableColumns(webhookEvents);
const { id, provider, type, customer, status, updatedAt } = detailed;
const traceId = sql<string | null>`split_part(${traceparent}, '-', 2)`;
const { body, failures, replays, ...columns } = detailed;

type Filter = 'event' | 'customer' | 'type' | 'status' | 'provider';
const list = new PagedList<WebhookEvent, Filter, 'createdAt'>({
  scope: 'admin',
  name: 'webhook events',
  table: webhookEvents,
  columns,
  filters: {
    event: value => sql`${fingerprint} = decode(${value}, 'hex')`,
    customer,
    type,
    status,
    provider,
  },
  // Nearly all events are done.
  rarestFirst: ({ status }) =>
    status === 'processed' || status === 'ignored'
      ? ['customer', 'type', 'status']
      : ['customer', 'status', 'type'],
});

/** A page of events, without their bodies, the newest first. */
export const listEvents = (context: Context, { event, ...query }: EventQuery) =>
  list.byCursor(context, {
    ...query,
    // The column with the id has no index, its fingerprint has one.
    ...(event !== undefined && { event: fingerprintOf(event).toString('hex') }),
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

export const notReplayable = conflict('not_replayable', {
  summary: 'The event is not in a state that can be replayed',
  message: ({ status }) => `The event is ${status}; replayable are: ${replayable.join(', ')}.`,
  example: { status: 'processed' },
});
export const notDismissible = conflict('not_dismissible', {
  summary: 'The event is not in a state that can be dismissed',
  message: ({ status }) => `The event is ${status}; dismissible are: ${dismissible.join(', ')}.`,
  example: { status: 'processed' },
});

/** What an operator does with events that are in one of these states. */
type Action = typeof replay | typeof dismissal;
const replay = {
  name: 'replay',
  from: replayable,
  conflict: notReplayable,
  queue: enqueue,
  set: { status: 'received', attempts: 0, reason: null, replays: sql`${replays} + 1` },
} as const;
const dismissal = {
  name: 'dismiss',
  from: dismissible,
  conflict: notDismissible,
  queue: dequeue,
  set: { status: 'dismissed' },
} as const;

/** Processes an event again, with new attempts; a conflict when its status does not allow it. */
export async function replayEvent(context: Context, event: string): Promise<WebhookEventDetail> {
  const replayed = await actOnOne(context, replay, event);
  context.callWorkers();
  return replayed;
}

/** Puts a failed or dead event away, until it is replayed; a conflict when its status does not allow it. */
export const dismissEvent = (context: Context, event: string) => actOnOne(context, dismissal, event);

/** Processes all matching events again, oldest first. */
export async function replayEvents(context: Context, filter: ReplayFilter): Promise<Replayed> {
  const { done, remaining } = await actOnMany(context, replay, filter);
  context.callWorkers();
  return { replayed: done, remaining };
}

/** Puts all matching events away, oldest first. */
export async function dismissEvents(context: Context, filter: DismissFilter): Promise<Dismissed> {
  const { done, remaining } = await actOnMany(context, dismissal, filter);
  return { dismissed: done, remaining };
}

async function actOnOne(context: Context, action: Action, event: string): Promise<WebhookEventDetail> {
  need(context, 'admin');
  if (!isId(event)) throw notFound('Webhook event');
  return inTransaction(context, async inside => {
    const done = await act(inside, action, [event]);
    const stored = await getEvent(inside, event);
    if (done > 0) return stored;
    throw action.conflict.error({ status: stored.status });
  });
}

/** How many events one transaction and one call act on. */
const step = 500;
const mostInCall = 10_000;

async function actOnMany(context: Context, action: Action, choice: ReplayFilter) {
  need(context, 'admin');
  const { dryRun, status: state, ...equal } = choice;
  // An event that fails again during the call is not replayed a second time.
  const isOlder = action.name === 'replay' ? lt(updatedAt, context.now().toISOString()) : undefined;
  const matching = and(
    isOlder,
    inArray(status, state ? [state] : ['failed', 'dead']),
    ...Object.entries(equal).map(([name, value]) => eq(webhookEvents[name as keyof typeof equal], value)),
  );
  let done = 0;
  while (!dryRun && done < mostInCall) {
    const { found, changed } = await inTransaction(context, async inside => {
      const rows = await orm(inside.db)
        .select({ id })
        .from(webhookEvents)
        .where(matching)
        .orderBy(id)
        .limit(step);
      const ids = rows.map(row => row.id);
      return { found: ids.length, changed: await act(inside, action, ids) };
    });
    // Not when none was changed: another call may have been faster with those that were found.
    if (found === 0) break;
    done += changed;
  }
  const [left] = await orm(context.db).select({ total: count() }).from(webhookEvents).where(matching);
  return { done, remaining: left?.total ?? 0 };
}

const key = { fingerprint, provider };

/** Acts on those of these events whose state allows it, once no worker processes them; returns how many. */
async function act(inside: Context, { name, from, set, queue }: Action, ids: string[]): Promise<number> {
  const { db, now } = inside;
  await lockInQueue(db, await orm(db).select(key).from(webhookEvents).where(inArray(id, ids)));
  const events = await orm(db)
    .update(webhookEvents)
    .set({ ...set, updatedAt: now().toISOString() })
    .where(and(inArray(id, ids), inArray(status, [...from])))
    .returning({ id, customer, ...key });
  if (events.length === 0) return 0;
  await queue(db, events);
  const writes = events.map(({ id }) => ({ recordId: id }));
  await recordWrites(inside, `event.${name}`, writes);
  return events.length;
}

/** Deletes some of the events that are done, or put away, and were received before a time; returns how many. */
export async function trimEvents(context: Context, before: Date): Promise<number> {
  need(context, 'admin');
  // Ids begin with the time, so the primary key finds old events.
  const matching = sql`${lt(id, lowestId(before))} and ${inArray(status, ['processed', 'ignored', 'dismissed'])}`;
  return deleteBatch(context.db, { key: id, matching });
}
