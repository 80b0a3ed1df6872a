import { sql } from '../../drizzle/orm.ts';
import { webhookEvents } from '../../drizzle/tables/webhookEvents.ts';
import { webhookRepeats } from '../../drizzle/tables/webhookRepeats.ts';
import type { EventStatus } from '../../schemas/event.ts';
import type { Provider } from '../config/providers.ts';
import type { Context, Job, Queue } from '../core/context.ts';
import { AppError } from '../core/errors.ts';
import { newId, timeOf } from '../core/ids.ts';
import { batch, maxBatch } from '../database/concurrency/batch.ts';
import type { Connection } from '../database/connection.ts';
import { databaseFailure } from '../database/databaseErrors.ts';
import { prepareInsert } from '../database/statements/prepareInsert.ts';
import { statement } from '../database/statements/statement.ts';
import { commitOnAllNodes, inTransaction } from '../database/transaction.ts';
import { traceIds, traceparent } from '../telemetry/tracing.ts';
import { parseBody, readEnvelope } from './envelope.ts';
import { fingerprintsOf, hasFingerprint } from './fingerprints.ts';
import { type Handlers, handlerFor } from './handlers/handler.ts';
import type { Headers } from './schemes.ts';

/** A request whose signature was verified. */
export interface Delivery {
  provider: Provider;
  headers: Headers;
  body: Buffer;
}

export interface Receipt {
  /** The stored event; undefined for a repeated one that was deleted at the same time. */
  id: string | undefined;
  /** The provider's id. */
  eventId: string | null;
  type: string | null;
  customer: string | null;
  /** `repeated`: the event was stored before, and the delivery was only counted. */
  outcome: 'received' | 'ignored' | 'repeated';
}

type Row = typeof webhookEvents.$inferInsert & { id: string; status: EventStatus; type: string | null };

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
 * Stores an event and its job before it returns; bad_request when the body is not JSON. Deliveries that arrive during a
 * commit share the next one. No scope is needed: the signature is the right.
 */
export async function receiveEvent(
  context: Context,
  handlers: Handlers,
  delivery: Delivery,
): Promise<Receipt> {
  const row = rowOf(context, handlers, delivery);
  const { id, provider, eventId = null, type, customer = null, status } = row;
  const arrival = { row, queue: context.queue, trace: traceparent() };
  const stored = await storeTogether(context.db, arrival).catch(error => {
    context.log.warn({ provider, eventId, type, customer }, 'webhook not stored');
    throw error;
  });
  const outcome = stored === id ? (status as 'received' | 'ignored') : 'repeated';
  return { id: stored, eventId, type, customer, outcome };
}

function rowOf({ now }: Context, handlers: Handlers, { provider, headers, body }: Delivery): Row {
  const parsed = parseBody(body);
  if (!parsed) throw new AppError('bad_request', 'The body is not valid JSON in UTF-8.');
  const { name, preset } = provider;
  const id = newId(now().getTime());
  const createdAt = timeOf(id).toISOString();
  const { problem, ...envelope } = readEnvelope(provider, headers, body, parsed.value, now());
  const known = { id, provider: name, preset, ...envelope };
  const handler = handlerFor(handlers, known);
  const fate =
    typeof handler === 'string'
      ? { status: 'ignored' as const, reason: problem ?? handler }
      : { status: 'received' as const };
  const traceId = traceIds().trace_id ?? null;
  return { ...known, ...fate, body, traceId, createdAt, updatedAt: createdAt };
}

/** So that two transactions with the same events do not lock crosswise. */
const inOneOrder = (a: Pick<Row, 'fingerprint'>, b: Pick<Row, 'fingerprint'>) =>
  a.fingerprint.compare(b.fingerprint);

const insertEvents = prepareInsert(
  webhookEvents,
  { id: webhookEvents.id },
  (insert, columns) =>
    insert
      .onConflictDoNothing({ target: [webhookEvents.fingerprint, webhookEvents.provider] })
      .returning(columns),
  ['attempts', 'replays', 'failures', 'lastError', 'processedAt'],
);

const { id, provider, fingerprint } = webhookEvents;
const findEvents = statement({ id, provider, fingerprint }, (builder, columns) =>
  builder.select(columns).from(webhookEvents).where(hasFingerprint),
);

const { repeats } = webhookRepeats;
const addRepeats = prepareInsert(webhookRepeats, { repeats }, (insert, columns) =>
  insert
    .onConflictDoUpdate({
      target: [webhookRepeats.fingerprint, webhookRepeats.provider],
      set: { repeats: sql`${repeats} + excluded.repeats` },
    })
    .returning(columns),
);

const keyOf = ({ provider, fingerprint }: Pick<Row, 'provider' | 'fingerprint'>) =>
  `${provider} ${fingerprint.toString('hex')}`;

/** Counts deliveries on the events that they repeat, and returns the ids of those events. */
async function countRepeated(db: Connection, repeated: Row[]): Promise<Map<string, string>> {
  if (repeated.length === 0) return new Map();
  const events = (await findEvents(db, { fingerprints: fingerprintsOf(repeated) })).sort(inOneOrder);
  const deliveries = Map.groupBy(repeated, keyOf);
  const counts = events.map(event => ({ ...event, repeats: deliveries.get(keyOf(event))?.length ?? 0 }));
  await addRepeats(
    db,
    counts.filter(({ repeats }) => repeats > 0),
  );
  return new Map(events.map(event => [keyOf(event), event.id]));
}

const jobOf = ({ row: { id, fingerprint, eventId }, trace }: Arrival): Job => ({
  event: id,
  round: 0,
  fingerprint: fingerprint.toString('hex'),
  ...(trace && { trace, eventId }),
});

/** Writes rows and jobs in one transaction; returns the id under which the event of each row is stored. */
async function store(db: Connection, arrivals: Arrival[]): Promise<(string | undefined)[]> {
  const [{ queue }] = arrivals as [Arrival];
  await queue.ready;
  const rows = arrivals.map(({ row }) => row).sort(inOneOrder);
  async function work(inside: { db: Connection }) {
    await commitOnAllNodes(inside.db);
    const inserted = new Set((await insertEvents(inside.db, rows)).map(({ id }) => id));
    const isNew = ({ id }: Row) => inserted.has(id);
    const jobs = arrivals.filter(({ row }) => isNew(row) && row.status === 'received').map(jobOf);
    await queue.add(inside.db, jobs);
    const repeated = rows.filter(row => !isNew(row));
    const stored = await countRepeated(inside.db, repeated);
    return arrivals.map(({ row }) => (isNew(row) ? row.id : stored.get(keyOf(row))));
  }
  const storeAll = () => inTransaction({ db }, work, { forSeveral: arrivals.length > 1 });
  return storeAll().catch(error => {
    // An event that was trimmed while it was repeated is a new one.
    if (databaseFailure(error)?.code !== foreignKeyViolation) throw error;
    return storeAll();
  });
}

const foreignKeyViolation = '23503';
