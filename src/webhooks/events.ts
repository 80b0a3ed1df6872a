import { and, count, eq, inArray, lt, sql } from 'drizzle-orm';
import { webhookEvents } from '../../drizzle/tables.ts';
import {
  type EventQuery,
  type Replayed,
  type ReplayFilter,
  replayable,
  type WebhookEvent,
  type WebhookEventDetail,
} from '../../schemas/event.ts';
import { need } from '../access/need.ts';
import type { Context } from '../core/context.ts';
import { AppError, notFound, orNotFound } from '../core/errors.ts';
import { isId, lowestId } from '../core/ids.ts';
import type { CursorPage } from '../core/pages.ts';
import { orm } from '../database/connection.ts';
import { inTransaction } from '../database/transaction.ts';
import { recordWrites } from '../services/audit.ts';
import { cursorLog } from '../services/logs.ts';
import { traceparent } from '../telemetry/tracing.ts';

const { id, provider, eventId, type, customer, status, attempts, replays, lastError } = webhookEvents;
const { failures, body, createdAt, updatedAt, processedAt } = webhookEvents;
const shown = {
  ...{ id, provider, eventId, type, customer, status, attempts, lastError },
  ...{ createdAt, updatedAt, processedAt },
};

const readEvents = cursorLog<WebhookEvent, 'customer' | 'type' | 'status' | 'provider'>('webhook events', {
  table: webhookEvents,
  columns: shown,
  filters: { customer, type, status, provider },
  // Few events are in a state that waits for somebody; nearly all are done.
  indexed: ({ status }) =>
    status === 'processed' || status === 'ignored'
      ? ['customer', 'type', 'status']
      : ['customer', 'status', 'type'],
});

/** A page of events, without their bodies. */
export async function listEvents(context: Context, query: EventQuery): Promise<CursorPage<WebhookEvent>> {
  need(context, 'admin');
  return readEvents(context, query);
}

/** One event with its body and its failed attempts. */
export async function getEvent(context: Context, event: string): Promise<WebhookEventDetail> {
  need(context, 'admin');
  const columns = { ...shown, replays, failures, body };
  const [row] = isId(event)
    ? await orm(context.db).select(columns).from(webhookEvents).where(eq(id, event))
    : [];
  const stored = orNotFound('Webhook event', row);
  return { ...stored, body: stored.body.toString('utf8') };
}

/** The event, to be processed again from its first attempt; a conflict when it is done or still being done. */
export async function replayEvent(context: Context, event: string): Promise<WebhookEventDetail> {
  need(context, 'admin');
  await context.queue.ready;
  return inTransaction(context, async inside => {
    if (!isId(event)) throw notFound('Webhook event');
    const replayed = await startAgain(inside, [event]);
    const stored = await getEvent(inside, event);
    if (replayed === 0)
      throw new AppError('conflict', `The event is ${stored.status}: only ${oneOf} ones can be replayed.`, {
        code: 'not_replayable',
        status: stored.status,
      });
    return stored;
  });
}
const oneOf = new Intl.ListFormat('en', { type: 'disjunction' }).format(replayable);

/** Events of one transaction, and of one call: a caller should not wait for more. */
const step = 500;
const mostReplayed = 10_000;

/** Has every event that fits processed again, the oldest first; says how many, and how many are left. */
export async function replayEvents(context: Context, filter: ReplayFilter): Promise<Replayed> {
  need(context, 'admin');
  await context.queue.ready;
  // Only what is there now: an event that fails again meanwhile is not replayed for ever.
  const fitting = and(lt(updatedAt, context.now().toISOString()), ...conditions(filter));
  let replayed = 0;
  for (let done = 0; replayed < mostReplayed; replayed += done) {
    done = await inTransaction(context, async inside => {
      const query = orm(inside.db).select({ id }).from(webhookEvents).where(fitting).orderBy(id).limit(step);
      const rows = await query.for('update', { skipLocked: true });
      return startAgain(
        inside,
        rows.map(row => row.id),
      );
    });
    if (done === 0) break;
  }
  const [left] = await orm(context.db).select({ total: count() }).from(webhookEvents).where(fitting);
  return { replayed, remaining: left?.total ?? 0 };
}

function conditions(filter: ReplayFilter) {
  const { status: state, ...equal } = filter;
  return [
    inArray(status, state ? [state] : ['failed', 'dead']),
    ...Object.entries(equal).map(([name, value]) => eq(webhookEvents[name as keyof typeof equal], value)),
  ];
}

/** A new round for each event that may have one, with its job. Jobs of earlier rounds become void. */
async function startAgain(inside: Context, ids: string[]): Promise<number> {
  if (ids.length === 0) return 0;
  const { db, now } = inside;
  const jobs = await orm(db)
    .update(webhookEvents)
    .set({
      status: 'received',
      attempts: 0,
      failures: [],
      replays: sql`${replays} + 1`,
      updatedAt: now().toISOString(),
    })
    .where(and(inArray(id, ids), inArray(status, [...replayable])))
    .returning({ event: id, round: replays });
  const trace = traceparent();
  await inside.queue.add(
    db,
    jobs.map(job => ({ ...job, trace })),
  );
  await recordWrites(
    inside,
    'event.replay',
    jobs.map(({ event }) => ({ recordId: event })),
  );
  return jobs.length;
}

/** Deletes a batch of the processed and ignored events received before a time; returns how many it deleted. */
export async function trimEvents(context: Context, before: Date): Promise<number> {
  need(context, 'admin');
  const db = orm(context.db);
  const old = db
    .select({ id })
    .from(webhookEvents)
    // The time is the first part of the id: the primary key finds the old ones without an index of their own.
    .where(and(lt(id, lowestId(before)), inArray(status, ['processed', 'ignored'])))
    .orderBy(id)
    .limit(step)
    .for('update', { skipLocked: true });
  const deleted = await db.delete(webhookEvents).where(inArray(id, old)).returning({ id });
  return deleted.length;
}
