import { and, count, eq, getTableColumns, inArray, lt, sql } from '../../drizzle/orm.ts';
import { webhookEvents } from '../../drizzle/tables/webhookEvents.ts';
import { webhookRepeats } from '../../drizzle/tables/webhookRepeats.ts';
import {
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
import { commitOnAllNodes, inTransaction } from '../database/transaction.ts';
import { recordWrites } from '../services/audit.ts';
import { cursorLog } from '../services/lists/cursorLog.ts';
import { traceparent } from '../telemetry/tracing.ts';
import { fingerprintOf } from './envelope.ts';

const { fingerprint, preset: _, ...stored } = getTableColumns(webhookEvents);
const { id, provider, eventId, type, customer, status, updatedAt } = stored;
const repeats = sql`(select repeats from ${webhookRepeats} r where r.fingerprint = ${fingerprint} and r.provider = ${provider})`;
const detailed = { ...stored, deliveries: sql<number>`1 + coalesce(${repeats}, 0)` };
const { body, failures, replays, traceId, ...columns } = detailed;

type Filter = 'event' | 'customer' | 'type' | 'status' | 'provider';
const listFiltered = cursorLog<WebhookEvent, Filter>({
  scope: 'admin',
  name: 'webhook events',
  table: webhookEvents,
  columns,
  filters: {
    event: value => sql`${fingerprint} = decode(${value}, 'hex')`,
    ...{ customer, type, status, provider },
  },
  // Nearly all events are done.
  rarestFirst: ({ status }) =>
    status === 'processed' || status === 'ignored'
      ? ['customer', 'type', 'status']
      : ['customer', 'status', 'type'],
});

/** A page of events, without their bodies. */
export const listEvents = (context: Context, { event, ...query }: EventQuery) =>
  listFiltered(context, {
    ...query,
    // The column with the id has no index, its fingerprint has one.
    ...(event !== undefined && { event: fingerprintOf(event).toString('hex') }),
  });

/** One event with its body and its failed attempts. */
export async function getEvent(context: Context, event: string): Promise<WebhookEventDetail> {
  need(context, 'admin');
  if (!isId(event)) throw notFound('Webhook event');
  const rows = await orm(context.db).select(detailed).from(webhookEvents).where(eq(id, event));
  const stored = orNotFound('Webhook event', rows[0]);
  return { ...stored, body: stored.body.toString('utf8') };
}

export const notReplayable = conflict('not_replayable', {
  summary: 'The event is not in a state that can be replayed',
  message: ({ status }) => `The event is ${status}; replayable are: ${replayable.join(', ')}.`,
  example: { status: 'processed' },
});

/** Processes a failed, dead or ignored event again, with new attempts; a conflict when it has another status. */
export async function replayEvent(context: Context, event: string): Promise<WebhookEventDetail> {
  need(context, 'admin');
  if (!isId(event)) throw notFound('Webhook event');
  await queueReady(context);
  return inTransaction(context, async inside => {
    const replayed = await startRound(inside, [event]);
    const stored = await getEvent(inside, event);
    if (replayed > 0) return stored;
    throw notReplayable.error({ status: stored.status });
  });
}

/** On the embedded database the queue cannot start while a transaction is open: then adding a job is refused instead. */
const queueReady = async ({ db, queue }: Context) => void (db.isTransaction || (await queue.ready));

/** How many events one transaction and one call replay. */
const step = 500;
const mostReplayed = 10_000;

/** Processes all matching events again, oldest first. */
export async function replayEvents(context: Context, given: ReplayFilter): Promise<Replayed> {
  need(context, 'admin');
  const { dryRun, ...filter } = given;
  if (!dryRun) await queueReady(context);
  // An event that fails again meanwhile is not replayed again.
  const matching = and(lt(updatedAt, context.now().toISOString()), ...conditions(filter));
  let replayed = 0;
  while (!dryRun && replayed < mostReplayed) {
    const { found, started } = await inTransaction(context, async inside => {
      const rows = await orm(inside.db)
        .select({ id })
        .from(webhookEvents)
        .where(matching)
        .orderBy(id)
        .limit(step);
      const ids = rows.map(row => row.id);
      return { found: ids.length, started: await startRound(inside, ids) };
    });
    // Not when none was started: another call may have been faster with those that were found.
    if (found === 0) break;
    replayed += started;
  }
  const [left] = await orm(context.db).select({ total: count() }).from(webhookEvents).where(matching);
  return { replayed, remaining: left?.total ?? 0 };
}

function conditions(filter: Omit<ReplayFilter, 'dryRun'>) {
  const { status: state, ...equal } = filter;
  return [
    inArray(status, state ? [state] : ['failed', 'dead']),
    ...Object.entries(equal).map(([name, value]) => eq(webhookEvents[name as keyof typeof equal], value)),
  ];
}

/** Starts a new round for each replayable event, which voids its older jobs; returns how many it started. */
async function startRound(inside: Context, ids: string[]): Promise<number> {
  if (ids.length === 0) return 0;
  const { db, now, queue } = inside;
  await commitOnAllNodes(db);
  const fresh = { status: 'received' as const, attempts: 0, failures: [], reason: null };
  const jobs = await orm(db)
    .update(webhookEvents)
    .set({ ...fresh, replays: sql`${replays} + 1`, updatedAt: now().toISOString() })
    .where(and(inArray(id, ids), inArray(status, [...replayable])))
    .returning({ event: id, round: replays, eventId, fingerprint });
  const trace = traceparent();
  const traced = jobs.map(job => ({ ...job, fingerprint: job.fingerprint.toString('hex'), trace }));
  await queue.add(db, traced);
  const writes = jobs.map(({ event }) => ({ recordId: event }));
  await recordWrites(inside, 'event.replay', writes);
  return jobs.length;
}

/** Deletes some of the processed and ignored events received before a time; returns how many. */
export async function trimEvents(context: Context, before: Date): Promise<number> {
  need(context, 'admin');
  // Ids begin with the time, so the primary key finds old events.
  const matching = sql`${lt(id, lowestId(before))} and ${inArray(status, ['processed', 'ignored'])}`;
  return deleteBatch(context.db, { key: id, matching, skipLocked: false });
}
