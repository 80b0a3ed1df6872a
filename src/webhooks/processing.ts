import { and, eq, inArray, type SQL, sql } from 'drizzle-orm';
import { webhookEvents } from '../../drizzle/tables.ts';
import type { EventStatus } from '../../schemas/event.ts';
import { need } from '../access/need.ts';
import type { Context, Job } from '../core/context.ts';
import { truncateForColumn } from '../core/text.ts';
import { orm } from '../database/connection.ts';
import { databaseFailure } from '../database/databaseErrors.ts';
import { statement } from '../database/statement.ts';
import { inTransaction, waitLongerForLocks } from '../database/transaction.ts';
import { inSpan, isTracing } from '../telemetry/tracing.ts';
import { parseBody } from './envelope.ts';
import type { EventInHand, Handlers } from './handlers/handler.ts';

/** An event that this process has begun to process. */
export interface Claimed extends Job {
  eventId: string | null;
  provider: string;
  type: string | null;
  customer: string | null;
  attempts: number;
}

const { id, eventId, provider, type, customer, attempts, replays, status } = webhookEvents;
const claimed = { event: id, round: replays, eventId, provider, type, customer, attempts };

const time = sql`${sql.placeholder('time')}::timestamptz`;
const jobsGiven = sql`json_to_recordset(${sql.placeholder('jobs')}::text::json) as job (event uuid, round integer)`;
const ofItsRound = and(eq(id, sql`job.event`), eq(replays, sql`job.round`));
// Events are found by their ids. By its index, a state would lead through all that ever had it since the last vacuum.
const state = sql`${status} || ''`;
const isToDo = inArray(state, ['received', 'processing', 'failed']);

const find = statement({ event: id }, (builder, columns) =>
  builder.select(columns).from(webhookEvents).innerJoin(jobsGiven, ofItsRound).where(isToDo),
);

/** The jobs whose events are still to be done. */
export async function jobsToDo(context: Context, jobs: Job[]): Promise<Job[]> {
  need(context, 'admin');
  const rows = await find(context.db, { jobs: JSON.stringify(jobs) });
  const events = new Set(rows.map(({ event }) => event));
  return jobs.filter(({ event }) => events.has(event));
}

const claim = statement(claimed, (builder, columns) =>
  builder
    .update(webhookEvents)
    .set({ status: 'processing', attempts: sql`${attempts} + 1`, updatedAt: time })
    .from(jobsGiven)
    .where(and(ofItsRound, isToDo))
    .returning(columns),
);

/**
 * Begins an attempt at an event, if it is still to be done. It is counted now, so that an event that ends the process is
 * not tried for ever; and it alone, so that its neighbours do not die with it.
 */
export async function claimEvent(context: Context, job: Job): Promise<Claimed | undefined> {
  need(context, 'admin');
  const { db, now } = context;
  const values = { jobs: JSON.stringify([job]), time: now().toISOString() };
  const [event] = await claim(db, values);
  return event && { ...event, trace: job.trace };
}

// The mark comes first: it locks the rows, so a second worker waits here and then finds nothing to do. What another one
// has failed at meanwhile is still to be done.
const markProcessed = (from: EventStatus[], counted: typeof attempts | SQL) =>
  statement(claimed, (builder, columns) =>
    builder
      .update(webhookEvents)
      .set({ status: 'processed', attempts: counted, lastError: null, updatedAt: time, processedAt: time })
      .from(jobsGiven)
      .where(and(ofItsRound, inArray(state, from)))
      .returning(columns),
  );
const mark = {
  received: markProcessed(['received'], sql`${attempts} + 1`),
  processing: markProcessed(['processing', 'failed'], attempts),
};

/**
 * Processes events, all completely or all not at all, and returns those that were still to be done. Whatever a handler throws
 * is thrown. Events that were only `received` need not be claimed before: their attempt is counted with its success.
 */
export async function processEvents(
  context: Context,
  handlers: Handlers,
  jobs: Job[],
  from: 'received' | 'processing',
): Promise<Job[]> {
  need(context, 'admin');
  async function work(inside: Context) {
    // A batch waits for others that concern the same customers: given up too soon, each event would be done alone.
    await waitLongerForLocks(inside.db);
    const values = { jobs: JSON.stringify(jobs), time: inside.now().toISOString() };
    const events = await mark[from](inside.db, values);
    for (const [handler, own] of Map.groupBy(events, event => handlerOf(handlers, event)))
      if (handler)
        await handler.handle(
          inside,
          own.map(event => inHand(inside, event)),
        );
      else await ignore(inside, own);
    return events;
  }
  return partOf(jobs, () => inTransaction(context, work, { forSeveral: jobs.length > 1 }));
}

/** None for an event that was received by a version which knew its type. */
function handlerOf(handlers: Handlers, { type, customer }: Claimed) {
  const handler = type === null ? undefined : handlers.get(type);
  return handler?.needsCustomer && customer === null ? undefined : handler;
}

async function ignore({ db }: Context, events: Claimed[]): Promise<void> {
  const ids = events.map(({ event }) => event);
  await orm(db).update(webhookEvents).set({ status: 'ignored', processedAt: null }).where(inArray(id, ids));
}

/** Does work that is a part of the trace of each of these events. */
function partOf<T>(jobs: Job[], work: () => Promise<T>): Promise<T> {
  if (!isTracing()) return work();
  const nested = jobs.reduce(
    (inner, { event, trace }) =>
      () =>
        inSpan('process webhook event', { parent: trace, attributes: { 'event.id': event } }, inner),
    work,
  );
  return nested();
}

const inHand = (inside: Context, { event, eventId, provider, type, customer }: Claimed): EventInHand => ({
  id: event,
  eventId,
  provider,
  type: type ?? '',
  customer,
  payload: () => readPayload(inside, event),
});

async function readPayload({ db }: Context, event: string): Promise<unknown> {
  const [row] = await orm(db).select({ body: webhookEvents.body }).from(webhookEvents).where(eq(id, event));
  return row && parseBody(row.body)?.value;
}

/**
 * Notes that an attempt failed, and says whether there will be another one. When a later attempt has begun, by a worker that
 * took this one for dead, nothing is noted: what becomes of the event is up to that one.
 */
export async function failEvent(
  context: Context,
  event: Claimed,
  error: unknown,
  retries: number,
): Promise<'failed' | 'dead'> {
  need(context, 'admin');
  const { db, now } = context;
  const next = event.attempts > retries ? 'dead' : 'failed';
  const at = now().toISOString();
  const reason = describe(error);
  const failure = JSON.stringify([{ attempt: event.attempts, at, error: reason }]);
  const noted = await orm(db)
    .update(webhookEvents)
    .set({
      status: next,
      lastError: reason,
      failures: sql`${webhookEvents.failures} || ${failure}::text::jsonb`,
      updatedAt: at,
    })
    .where(
      and(
        eq(id, event.event),
        eq(replays, event.round),
        eq(attempts, event.attempts),
        eq(status, 'processing'),
      ),
    )
    .returning({ id });
  return noted.length > 0 ? next : 'failed';
}

/** For the operator's eyes, through the API: a statement and its values stay in the log. */
function describe(error: unknown): string {
  const failure = databaseFailure(error);
  if (failure) return `database error ${failure.code}`;
  const message = error instanceof Error ? error.message : String(error);
  return truncateForColumn(message, 500);
}
