import { and, eq, or, sql } from 'drizzle-orm';
import { webhookEvents } from '../../drizzle/tables.ts';
import type { Context } from '../core/context.ts';
import { inTransaction, type Orm, prepared } from '../core/database.ts';
import { databaseFailure } from '../core/failure.ts';
import type { Job } from '../core/queue.ts';
import { traced } from '../core/tracing.ts';
import { need } from './access.ts';
import { parseBody } from './envelope.ts';
import type { Handlers } from './handlers/index.ts';

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

/**
 * Begins an attempt at each event that is still to be done. The attempt is counted before it is made, because
 * an event that ends the process would otherwise be tried for ever.
 */
export async function claimEvents(context: Context, jobs: Job[]): Promise<Claimed[]> {
  need(context, 'admin');
  const { db, now } = context;
  const traces = new Map(jobs.map(job => [job.event, job.trace]));
  const rows = await db
    .update(webhookEvents)
    .set({ status: 'processing', attempts: sql`${attempts} + 1`, updatedAt: now().toISOString() })
    .where(
      and(
        or(...jobs.map(job => and(eq(id, job.event), eq(replays, job.round)))),
        sql`${status} in ('received', 'processing', 'failed')`,
      ),
    )
    .returning(claimed);
  return rows.map(event => ({ ...event, trace: traces.get(event.id) }));
}

// The mark comes first: it locks the row, so a second worker waits here and then finds nothing to do.
const mark = prepared('webhook event done', (db: Orm) =>
  db
    .update(webhookEvents)
    .set({
      status: sql`${sql.placeholder('status')}`,
      lastError: null,
      updatedAt: sql`${sql.placeholder('time')}`,
      processedAt: sql`${sql.placeholder('processedAt')}`,
    })
    .where(
      and(eq(id, sql.placeholder('id')), eq(replays, sql.placeholder('replays')), eq(status, 'processing')),
    )
    .returning({ id }),
);

/** Processes events, each completely or all not at all. Whatever a handler throws is thrown. */
export async function processEvents(context: Context, handlers: Handlers, events: Claimed[]): Promise<void> {
  need(context, 'admin');
  await inTransaction(context, async inside => {
    for (const event of events) {
      const spanned = {
        parent: event.trace,
        attributes: { 'event.id': event.id, 'event.type': event.type ?? '' },
      };
      await traced('process webhook event', spanned, () => processEvent(inside, handlers, event));
    }
  });
}

async function processEvent(inside: Context, handlers: Handlers, event: Claimed): Promise<void> {
  const handler = event.type === null ? undefined : handlers.get(event.type);
  // Received by a version that knew the type, processed by one that does not.
  const idle = !handler || (handler.needsCustomer && event.customer === null);
  const time = inside.now().toISOString();
  const outcome = idle
    ? { status: 'ignored', processedAt: null }
    : { status: 'processed', processedAt: time };
  const marked = await mark(inside.db, 'only').execute({
    id: event.id,
    replays: event.replays,
    time,
    ...outcome,
  });
  if (marked.length > 0 && handler && !idle)
    await handler.handle(inside, {
      ...event,
      type: event.type ?? '',
      payload: () => readPayload(inside, event.id),
    });
}

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
