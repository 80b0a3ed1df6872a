import { sql } from 'drizzle-orm';
import { webhookEvents } from '../../drizzle/tables.ts';
import type { EventStatus } from '../../schemas/event.ts';
import type { Context } from '../core/context.ts';
import { AppError } from '../core/errors.ts';
import { newId, timeOf } from '../core/ids.ts';
import { mostTogether, shared } from '../database/batch.ts';
import { inTransaction, type Orm, prepared } from '../database/database.ts';
import { bytesIn, rowsOf } from '../database/jsonRows.ts';
import { traceparent } from '../telemetry/tracing.ts';
import { parseBody, readEnvelope } from './envelope.ts';
import type { Handlers } from './handlers/handler.ts';
import type { Queue } from './queue.ts';

/** A body whose signature was found genuine. */
export interface Delivery {
  provider: string;
  body: Buffer;
  /** The id that the signature scheme carries, if it does. */
  sentId: string | undefined;
}

export interface Receipt {
  /** The stored event; undefined for one that was repeated and deleted at the same time. */
  id: string | undefined;
  /** The provider's id of it. */
  eventId: string | null;
  type: string | null;
  /** `repeated`: the event was stored before, and nothing was done. */
  outcome: 'received' | 'ignored' | 'repeated';
}

type Row = typeof webhookEvents.$inferInsert & { id: string; status: EventStatus; type: string | null };

/** A row, and the trace that its processing belongs to. */
interface Arrival {
  row: Row;
  trace: string | undefined;
}

/** Bytes of bodies in one transaction: a few copies of them are in memory while it is sent. */
const mostBytes = 8 * 1024 * 1024;

/**
 * A function that stores an event, with its job, before it returns; bad_request when the body is not JSON.
 * Deliveries that arrive while others are being written share the next transaction: each still has its
 * answer only after the commit, and many cost hardly more than one. No scope is asked: the signature is the right.
 */
export function openInbox(queue: Queue, handlers: Handlers) {
  const storeShared = shared('webhooks', (db, arrivals: Arrival[]) => store(db, queue, arrivals), {
    weightOf: ({ row }) => 1 + (row.body.length / mostBytes) * mostTogether,
    sent: 1,
  });
  return async function receive(context: Context, delivery: Delivery): Promise<Receipt> {
    const row = rowOf(context, handlers, delivery);
    const { id, eventId = null, type, status } = row;
    const stored = await storeShared(context.db, { row, trace: traceparent() });
    const outcome = stored === id ? (status as 'received' | 'ignored') : 'repeated';
    return { id: stored, eventId, type, outcome };
  };
}
export type Receive = ReturnType<typeof openInbox>;

function rowOf({ now }: Context, handlers: Handlers, { provider, body, sentId }: Delivery): Row {
  const parsed = parseBody(body);
  if (!parsed) throw new AppError('bad_request', 'The body is not valid JSON in UTF-8.');
  const { problem, ...envelope } = readEnvelope(parsed.value, body, sentId);
  const handler = envelope.type === null ? undefined : handlers.get(envelope.type);
  const idle = !handler || (handler.needsCustomer && envelope.customer === null);
  const id = newId(now().getTime());
  const time = timeOf(id).toISOString();
  return {
    id,
    provider,
    ...envelope,
    status: idle ? 'ignored' : 'received',
    attempts: 0,
    replays: 0,
    failures: [],
    lastError: problem,
    body,
    createdAt: time,
    updatedAt: time,
  };
}

// One order for all, so that two transactions with the same events do not lock crosswise.
const insertEvents = prepared('webhook events', (db: Orm) =>
  db
    .insert(webhookEvents)
    .select(sql`${rowsOf(webhookEvents, 'rows')} order by fingerprint`)
    .onConflictDoNothing({ target: [webhookEvents.provider, webhookEvents.fingerprint] })
    .returning({ id: webhookEvents.id }),
);

const findEvents = prepared('webhook events stored before', (db: Orm) =>
  db
    .select({ sent: sql<string>`sent.id`, stored: webhookEvents.id })
    .from(sql`(${rowsOf(webhookEvents, 'rows')}) as sent`)
    .innerJoin(
      webhookEvents,
      sql`${webhookEvents.provider} = sent.provider and ${webhookEvents.fingerprint} = sent.fingerprint`,
    ),
);

/** Writes rows and jobs in one transaction; returns for each row the id under which its event is stored. */
async function store(db: Orm, queue: Queue, arrivals: Arrival[]): Promise<(string | undefined)[]> {
  await queue.ready;
  const rows = arrivals.map(({ row }) => ({
    ...row,
    body: bytesIn(row.body),
    fingerprint: bytesIn(row.fingerprint),
  }));
  async function work(inside: { db: Orm }) {
    const stored = await insertEvents(inside.db, 'only').execute({ rows: JSON.stringify(rows) });
    const isNew = new Set(stored.map(({ id }) => id));
    const jobs = arrivals
      .filter(({ row }) => isNew.has(row.id) && row.status === 'received')
      .map(({ row, trace }) => ({ event: row.id, round: 0, trace }));
    await queue.add(inside.db, jobs);
    const repeated = rows.filter(({ id }) => !isNew.has(id));
    const storedAs = await storedBefore(inside.db, repeated);
    return arrivals.map(({ row: { id } }) => (isNew.has(id) ? id : storedAs.get(id)));
  }
  return inTransaction({ db }, work, { forSeveral: arrivals.length > 1 });
}

/** The ids of the events that these rows repeat, by the ids of the rows. */
async function storedBefore(
  db: Orm,
  repeated: { id: string; provider: string; fingerprint: string }[],
): Promise<Map<string, string>> {
  if (repeated.length === 0) return new Map();
  const keys = repeated.map(({ id, provider, fingerprint }) => ({ id, provider, fingerprint }));
  const found = await findEvents(db, 'only').execute({ rows: JSON.stringify(keys) });
  return new Map(found.map(({ sent, stored }) => [sent, stored]));
}
