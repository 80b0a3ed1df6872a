import { sql } from 'drizzle-orm';
import { webhookEvents } from '../../drizzle/tables.ts';
import type { EventStatus } from '../../schemas/event.ts';
import type { Context, Queue } from '../core/context.ts';
import { AppError } from '../core/errors.ts';
import { newId, timeOf } from '../core/ids.ts';
import { batch, maxBatch } from '../database/batch.ts';
import type { Connection } from '../database/connection.ts';
import { hexBytes, rowsFromJson } from '../database/jsonRows.ts';
import { statement } from '../database/statement.ts';
import { inTransaction } from '../database/transaction.ts';
import { traceparent } from '../telemetry/tracing.ts';
import { parseBody, readEnvelope } from './envelope.ts';
import type { Handlers } from './handlers/handler.ts';

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

/** A row, and what its job needs. */
interface Arrival {
  row: Row;
  queue: Queue;
  trace: string | undefined;
}

/** Bytes of bodies in one transaction: a few copies of them are in memory while it is sent. */
const maxBytes = 8 * 1024 * 1024;

const storeTogether = batch('webhooks', store, {
  weightOf: ({ row }) => 1 + (row.body.length / maxBytes) * maxBatch,
  parallel: 1,
});

/**
 * Stores an event, with its job, before it returns; bad_request when the body is not JSON. Deliveries that arrive while
 * others are being written share the next transaction: each still has its answer only after the commit, and many cost
 * hardly more than one. No scope is needed: the signature is the right.
 */
export async function receiveEvent(
  context: Context,
  handlers: Handlers,
  delivery: Delivery,
): Promise<Receipt> {
  const row = rowOf(context, handlers, delivery);
  const { id, eventId = null, type, status } = row;
  const stored = await storeTogether(context.db, { row, queue: context.queue, trace: traceparent() });
  const outcome = stored === id ? (status as 'received' | 'ignored') : 'repeated';
  return { id: stored, eventId, type, outcome };
}

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
const insertEvents = statement({ id: webhookEvents.id }, (builder, columns) =>
  builder
    .insert(webhookEvents)
    .select(sql`${rowsFromJson(webhookEvents)} order by fingerprint`)
    .onConflictDoNothing({ target: [webhookEvents.provider, webhookEvents.fingerprint] })
    .returning(columns),
);

const findEvents = statement({ sent: sql<string>`sent.id`, stored: webhookEvents.id }, (builder, columns) =>
  builder
    .select(columns)
    .from(sql`(${rowsFromJson(webhookEvents)}) as sent`)
    .innerJoin(
      webhookEvents,
      sql`${webhookEvents.provider} = sent.provider and ${webhookEvents.fingerprint} = sent.fingerprint`,
    ),
);

/** Writes rows and jobs in one transaction; returns for each row the id under which its event is stored. */
async function store(db: Connection, arrivals: Arrival[]): Promise<(string | undefined)[]> {
  const [{ queue }] = arrivals as [Arrival];
  await queue.ready;
  const rows = arrivals.map(({ row }) => ({
    ...row,
    body: hexBytes(row.body),
    fingerprint: hexBytes(row.fingerprint),
  }));
  async function work(inside: { db: Connection }) {
    const stored = await insertEvents(inside.db, { rows: JSON.stringify(rows) });
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
  db: Connection,
  repeated: { id: string; provider: string; fingerprint: string }[],
): Promise<Map<string, string>> {
  if (repeated.length === 0) return new Map();
  const keys = repeated.map(({ id, provider, fingerprint }) => ({ id, provider, fingerprint }));
  const events = await findEvents(db, { rows: JSON.stringify(keys) });
  return new Map(events.map(({ sent, stored }) => [sent, stored]));
}
