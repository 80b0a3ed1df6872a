import { webhookEvents } from '../../drizzle/tables.ts';
import type { EventStatus } from '../../schemas/event.ts';
import type { Context } from '../core/context.ts';
import { inTransaction } from '../core/database.ts';
import { AppError } from '../core/errors.ts';
import { databaseFailure, isOutage } from '../core/failure.ts';
import { newId } from '../core/ids.ts';
import { gathering } from '../core/metrics.ts';
import type { Queue } from '../core/queue.ts';
import { here, traceparent, type Within } from '../core/tracing.ts';
import { parseBody, readEnvelope } from './envelope.ts';
import type { Handlers } from './handlers/index.ts';

/** A body whose signature was found genuine. */
export interface Delivery {
  provider: string;
  body: Buffer;
  /** The id that the signature scheme carries, if it does. */
  sentId: string | undefined;
}

export interface Receipt {
  id: string;
  type: string | null;
  /** `repeated`: the event was stored before, and nothing was done. */
  outcome: 'received' | 'ignored' | 'repeated';
}

type Row = typeof webhookEvents.$inferInsert & { id: string; status: EventStatus; type: string | null };

interface Waiting {
  row: Row;
  trace: string | undefined;
  within: Within;
  resolve: (receipt: Receipt) => void;
  reject: (error: unknown) => void;
}

/** Events written by one statement at most: they are in memory anyhow, but a statement has its limits. */
const mostRows = 100;
const mostBytes = 8 * 1024 * 1024;

/**
 * A function that stores an event, with its job, before it returns; bad_request when the body is not JSON.
 * Deliveries that arrive while others are being written share the next transaction: each still has its
 * answer only after the commit, and many cost hardly more than one. No scope is asked: the signature is the right.
 */
export function openInbox(queue: Queue, handlers: Handlers) {
  let waiting: Waiting[] = [];
  let writing = false;

  async function writeAll(context: Context) {
    // Whatever else has arrived in this turn of the event loop comes along.
    await new Promise(resolve => setImmediate(resolve));
    while (waiting.length > 0) {
      const batch = takeBatch();
      gathering.publish({ what: 'webhooks', size: batch.length });
      try {
        // In the trace of the first: the others only wait for it.
        const [{ within }] = batch as [Waiting];
        settle(batch, await within(() => store(context, queue, batch)));
      } catch (error) {
        await storeEach(context, batch, error);
      }
    }
    writing = false;
  }

  function takeBatch(): Waiting[] {
    let bytes = 0;
    const fitting = waiting.findIndex(({ row }, i) => {
      bytes += row.body.length;
      return i > 0 && (i === mostRows || bytes > mostBytes);
    });
    const batch = waiting.slice(0, fitting < 0 ? waiting.length : fitting);
    waiting = waiting.slice(batch.length);
    return batch;
  }

  /** One that the database refuses must not take the others with it. */
  async function storeEach(context: Context, batch: Waiting[], error: unknown) {
    const failure = databaseFailure(error);
    const hopeless = batch.length === 1 || error instanceof AppError || (failure && isOutage(failure));
    for (const one of batch)
      if (hopeless) one.reject(error);
      else
        await store(context, queue, [one]).then(
          stored => settle([one], stored),
          (reason: unknown) => one.reject(reason),
        );
  }

  return async function receive(context: Context, delivery: Delivery): Promise<Receipt> {
    const row = rowOf(context, handlers, delivery);
    const { promise, resolve, reject } = Promise.withResolvers<Receipt>();
    waiting.push({ row, resolve, reject, trace: traceparent(), within: here() });
    if (!writing) {
      writing = true;
      void writeAll(context);
    }
    return promise;
  };
}
export type Receive = ReturnType<typeof openInbox>;

function rowOf({ now }: Context, handlers: Handlers, { provider, body, sentId }: Delivery): Row {
  const parsed = parseBody(body);
  if (!parsed) throw new AppError('bad_request', 'The body is not valid JSON in UTF-8.');
  const { problem, ...envelope } = readEnvelope(parsed.value, body, sentId);
  const handler = envelope.type === null ? undefined : handlers.get(envelope.type);
  const idle = !handler || (handler.needsCustomer && envelope.customer === null);
  const time = now();
  return {
    id: newId(time.getTime()),
    provider,
    ...envelope,
    status: idle ? 'ignored' : 'received',
    lastError: problem,
    body,
    createdAt: time.toISOString(),
    updatedAt: time.toISOString(),
  };
}

/** Writes rows and jobs in one transaction, and returns the ids of the rows that were new. */
async function store(context: Context, queue: Queue, batch: Waiting[]): Promise<Set<string>> {
  await queue.ready;
  return inTransaction(context, async ({ db }) => {
    const rows = batch.map(({ row }) => row);
    const stored = await db
      .insert(webhookEvents)
      .values(rows)
      .onConflictDoNothing({ target: [webhookEvents.provider, webhookEvents.fingerprint] })
      .returning({ id: webhookEvents.id });
    const ids = new Set(stored.map(({ id }) => id));
    const work = batch.filter(({ row }) => ids.has(row.id) && row.status === 'received');
    await queue.add(
      db,
      work.map(({ row, trace }) => ({ event: row.id, round: 0, trace })),
    );
    return ids;
  });
}

function settle(batch: Waiting[], stored: Set<string>): void {
  for (const { row, resolve } of batch) {
    const outcome = stored.has(row.id) ? (row.status as 'received' | 'ignored') : 'repeated';
    resolve({ id: row.id, type: row.type, outcome });
  }
}
