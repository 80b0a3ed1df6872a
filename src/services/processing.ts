import { and, eq, sql } from 'drizzle-orm';
import { webhookEvents } from '../../drizzle/tables.ts';
import type { Context } from '../core/context.ts';
import { inTransaction, type Orm, prepared } from '../core/database.ts';
import { databaseFailure } from '../core/failure.ts';
import type { Job } from '../core/queue.ts';
import { isTracing, traced } from '../core/tracing.ts';
import { need } from './access.ts';
import { parseBody } from './envelope.ts';
import type { EventInHand, Handlers } from './handlers/handler.ts';

/** An event that this process has begun to process. */
export interface Claimed {
  id: string;
  provider: string;
  type: string | null;
  customer: string | null;
  attempts: number;
  replays: number;
  /** Where in a trace it came in. */
  trace: string | undefined;
}

const { id, provider, type, customer, attempts, replays, status } = webhookEvents;
const claimed = { id, provider, type, customer, attempts, replays };

const given = sql`json_to_recordset(${sql.placeholder('given')}::text::json)`;

const claim = prepared('webhook events to do', (db: Orm) =>
  db
    .update(webhookEvents)
    .set({
      status: 'processing',
      attempts: sql`${attempts} + 1`,
      updatedAt: sql`${sql.placeholder('time')}`,
    })
    .from(sql`${given} as job (event uuid, round integer)`)
    .where(
      and(
        eq(id, sql`job.event`),
        eq(replays, sql`job.round`),
        sql`${status} in ('received', 'processing', 'failed')`,
      ),
    )
    .returning(claimed),
);

/**
 * Begins an attempt at each event that is still to be done. The attempt is counted before it is made, because
 * an event that ends the process would otherwise be tried for ever.
 */
export async function claimEvents(context: Context, jobs: Job[]): Promise<Claimed[]> {
  need(context, 'admin');
  const { db, now } = context;
  const rows = await claim(db, 'only').execute({ given: JSON.stringify(jobs), time: now().toISOString() });
  const traces = new Map(jobs.map(job => [job.event, job.trace]));
  return rows.map(event => ({ ...event, trace: traces.get(event.id) }));
}

// The mark comes first: it locks the rows, so a second worker waits here and then finds nothing to do.
const mark = prepared('webhook events done', (db: Orm) =>
  db
    .update(webhookEvents)
    .set({
      status: sql`done.status`,
      lastError: null,
      updatedAt: sql`${sql.placeholder('time')}`,
      processedAt: sql`case done.status when 'processed' then ${sql.placeholder('time')}::timestamptz end`,
    })
    .from(sql`${given} as done (id uuid, replays integer, status text)`)
    .where(and(eq(id, sql`done.id`), eq(replays, sql`done.replays`), eq(status, 'processing')))
    .returning({ id }),
);

/** Processes events, each completely or all not at all. Whatever a handler throws is thrown. */
export async function processEvents(context: Context, handlers: Handlers, events: Claimed[]): Promise<void> {
  need(context, 'admin');
  await partOf(events, () => inTransaction(context, inside => processAll(inside, handlers, events)));
}

async function processAll(inside: Context, handlers: Handlers, events: Claimed[]): Promise<void> {
  // Received by a version that knew the type, processed by one that does not.
  const handlerOf = ({ type, customer }: Claimed) => {
    const handler = type === null ? undefined : handlers.get(type);
    return handler?.needsCustomer && customer === null ? undefined : handler;
  };
  const done = events.map(event => ({
    id: event.id,
    replays: event.replays,
    status: handlerOf(event) ? 'processed' : 'ignored',
  }));
  const marked = await mark(inside.db, 'only').execute({
    given: JSON.stringify(done),
    time: inside.now().toISOString(),
  });
  const mine = new Set(marked.map(row => row.id));
  const fresh = events.filter(event => mine.has(event.id));
  for (const [handler, own] of Map.groupBy(fresh, handlerOf))
    await handler?.handle(
      inside,
      own.map(event => inHand(inside, event)),
    );
}

/** Does work that is a part of the trace of each of these events. */
function partOf(events: Claimed[], work: () => Promise<void>): Promise<void> {
  if (!isTracing()) return work();
  const nested = events.reduce(
    (inner, { id, type, trace }) =>
      () => {
        const attributes = { 'event.id': id, 'event.type': type ?? '' };
        return traced('process webhook event', { parent: trace, attributes }, inner);
      },
    work,
  );
  return nested();
}

const inHand = (inside: Context, event: Claimed): EventInHand => ({
  ...event,
  type: event.type ?? '',
  payload: () => readPayload(inside, event.id),
});

async function readPayload({ db }: Context, event: string): Promise<unknown> {
  const [row] = await db.select({ body: webhookEvents.body }).from(webhookEvents).where(eq(id, event));
  return row && parseBody(row.body)?.value;
}

/** Notes that an attempt failed, and says whether there will be another one. */
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
  await db
    .update(webhookEvents)
    .set({
      status: next,
      lastError: reason,
      failures: sql`${webhookEvents.failures} || ${failure}::text::jsonb`,
      updatedAt: at,
    })
    .where(and(eq(id, event.id), eq(replays, event.replays), eq(status, 'processing')));
  return next;
}

/** For the operator's eyes, through the API: a statement and its values stay in the log. */
function describe(error: unknown): string {
  const failure = databaseFailure(error);
  if (failure) return `database error ${failure.code}`;
  const message = error instanceof Error ? error.message : String(error);
  return message.slice(0, 500).toWellFormed().replaceAll('\0', '\ufffd');
}
