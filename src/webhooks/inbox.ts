import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises';
import DataLoader from 'dataloader';
import { not, sql } from '#drizzle/orm.ts';
import { webhookEvents } from '#drizzle/tables/service/webhookEvents.ts';
import { webhookQueue } from '#drizzle/tables/service/webhookQueue.ts';
import type { Context } from '#src/access/context.ts';
import type { Provider } from '#src/config/providers.ts';
import { newRecord } from '#src/core/ids.ts';
import { parseJson } from '#src/core/json.ts';
import { keptIn } from '#src/core/kept.ts';
import type { Connection } from '#src/database/connection.ts';
import { databaseFailure, isOutage } from '#src/database/databaseErrors.ts';
import { arrayText, rowsOfTable } from '#src/database/statements/insertRows.ts';
import { statement } from '#src/database/statements/statement.ts';
import { oneAtATime } from '#src/database/turns.ts';
import { write } from '#src/database/write.ts';
import { traceparent } from '#src/telemetry/tracing.ts';
import { readEnvelope } from './envelope.ts';
import { type Handlers, handlerFor } from './handler.ts';
import { eventKeyOf } from './queue.ts';
import type { Headers } from './signature.ts';

/** A request whose signature was verified. */
interface Delivery {
  provider: Provider;
  headers: Headers;
  body: Buffer;
}

/** An event as it is stored. */
type ReceivedEvent = NonNullable<ReturnType<typeof readEvent>>;

/**
 * Stores an event, and adds it to the queue, before it returns; undefined when the body is not JSON. Deliveries
 * that arrive during a commit share the next one. No scope is needed, because the signature was verified.
 */
export async function receiveEvent(context: Context, handlers: Handlers, delivery: Delivery) {
  const event = readEvent(context, handlers, delivery);
  if (!event) return undefined;
  const { id: newId, provider, eventId, type, customer, status } = event;
  const inbox = keptIn(inboxes, context.db, () => openInbox(context.db));
  const id = await inbox.load(event).catch(error => {
    context.log.warn({ provider, eventId, type, customer }, 'webhook not stored');
    throw error;
  });
  const isNew = id === newId;
  // A repeated delivery is only counted.
  return { id, eventId, type, customer, outcome: isNew ? status : 'repeated' };
}

function readEvent(context: Context, handlers: Handlers, { provider, headers, body }: Delivery) {
  const parsed = parseJson(body);
  if (parsed === undefined) return undefined;
  const { id, createdAt } = newRecord(context);
  const { name, preset } = provider;
  const envelope = readEnvelope(provider, headers, body, parsed, context.now());
  const handler = handlerFor(handlers, { preset, ...envelope });
  const reason = typeof handler === 'string' ? handler : undefined;
  const status = reason === undefined ? ('received' as const) : ('ignored' as const);
  const work = { status, reason, traceparent: traceparent() };
  return { id, createdAt, provider: name, preset, ...envelope, body, ...work };
}

const { id, provider, fingerprint, customer, status, deliveries } = webhookEvents;

/** What needs no member of the JSON, and the bytes of the body, whose text is shorter than its hex digits. */
const computed = {
  attempts: sql`0`,
  replays: sql`0`,
  failures: sql`'[]'`,
  updatedAt: sql`new."createdAt"`,
  body: sql`convert_to(new.body, 'UTF8')`,
};

/**
 * Stores events and their places in the queue in one statement, so that both are committed together. A repeated event
 * is only counted, and returned with the id under which it is stored: one that is not returned is new.
 */
const storeEvents = statement({ id, provider, fingerprint }, builder => {
  const stored = builder.$with('stored').as(
    builder
      .insert(webhookEvents)
      .select(rowsOfTable(webhookEvents, computed))
      .onConflictDoUpdate({
        target: [fingerprint, provider],
        set: { deliveries: sql`${deliveries} + excluded.deliveries` },
      })
      .returning({ id, provider, fingerprint, customer, status }),
  );
  const isNew = sql`${stored.id}::text = any(${sql.placeholder('ids')}::text[])`;
  const queued = builder
    .$with('queued')
    .as(
      builder
        .insert(webhookQueue)
        .select(
          sql`select fingerprint, provider, customer, date_trunc('milliseconds', now()), false, null, null, null::int from ${stored} where ${isNew} and ${stored.status} = 'received'`,
        )
        .onConflictDoNothing()
        .returning({ provider: webhookQueue.provider }),
    );
  return builder
    .with(stored, queued)
    .select({ id: stored.id, provider: stored.provider, fingerprint: stored.fingerprint })
    .from(stored)
    .where(not(isNew));
});

/** Milliseconds until the next group begins anyway: a group that waits for a lock must not hold up others. */
const waitForGroup = 100;

/** Groups the events that arrive while earlier ones are being stored: 50 deliveries may share one commit. */
function openInbox(db: Connection) {
  let last: Promise<unknown> = Promise.resolve();
  const storeAll = (events: readonly ReceivedEvent[]) => {
    const stored = storeGroup(db, events);
    last = Promise.race([stored, sleep(waitForGroup, undefined, { ref: false })]);
    return stored;
  };
  // A group is stored in the trace of its first event: the others only wait for it.
  const batchScheduleFn = (begin: () => void) => void last.then(() => turn()).then(begin);
  return new DataLoader(storeAll, { cache: false, maxBatchSize: 200, batchScheduleFn });
}
const inboxes = new WeakMap<Connection, ReturnType<typeof openInbox>>();

/** Bytes of bodies in one statement: a few copies of them are in memory while it is sent. */
const maxBytes = 8 * 1024 * 1024;

/** Returns the id under which each event is stored, or why it is not. */
async function storeGroup(db: Connection, events: readonly ReceivedEvent[]): Promise<(string | Error)[]> {
  const bytes = events.reduce((sum, { body }) => sum + body.length, 0);
  if (bytes > maxBytes && events.length > 1) {
    const half = Math.ceil(events.length / 2);
    const first = await storeGroup(db, events.slice(0, half));
    return [...first, ...(await storeGroup(db, events.slice(half)))];
  }
  return store(db, events).catch(async error => {
    // If there was no answer, the events may be stored, and trying again would count them twice.
    if (events.length === 1 || !isRefusal(error)) return events.map(() => error);
    // Stores each event alone, all at once: one that waits for a lock must not hold up the others.
    return (await Promise.all(events.map(event => storeGroup(db, [event])))).flat();
  });
}

/** Whether the server undid the work. The error of a server that is going away does not say. */
function isRefusal(error: unknown): boolean {
  const failure = databaseFailure(error);
  return failure !== undefined && (!isOutage(error) || /^40/.test(failure.code));
}

/** Returns the id under which each event is stored. */
async function store(db: Connection, events: readonly ReceivedEvent[]): Promise<string[]> {
  const groups = Map.groupBy(events, eventKeyOf);
  // Sorts the events, so that two instances with the same ones do not deadlock. A body is JSON in UTF-8, so its text has
  // all of its bytes.
  const rows = [...groups]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([, same]) => {
      const [event] = same as [ReceivedEvent];
      return { ...event, body: event.body.toString(), deliveries: same.length };
    });
  const $rows = JSON.stringify(rows);
  const ids = arrayText(rows.map(({ id }) => id));
  const storeAll = () => storeEvents(db, { $rows, ids });
  // An event that is being processed or replayed is locked for a moment. A group soon gives up: each of its events is
  // then stored alone, and waits.
  const repeated = await (events.length > 1
    ? storeAll()
    : write({ db }, storeAll, Object.fromEntries([...groups.keys()].map(key => [key, oneAtATime]))));
  const idByKey = new Map(repeated.map(event => [eventKeyOf(event), event.id]));
  return events.map(event => {
    const key = eventKeyOf(event);
    return idByKey.get(key) ?? (groups.get(key)?.[0]?.id as string);
  });
}
