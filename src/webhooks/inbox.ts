import { getTableColumns, sql } from '../../drizzle/orm.ts';
import { webhookEvents } from '../../drizzle/tables/webhookEvents.ts';
import { webhookQueue } from '../../drizzle/tables/webhookQueue.ts';
import type { Provider } from '../config/providers.ts';
import type { Context } from '../core/context.ts';
import { newId, timeOf } from '../core/ids.ts';
import type { Connection } from '../database/connection.ts';
import { rowsOfTable } from '../database/statements/insertRows.ts';
import { statement } from '../database/statements/statement.ts';
import { write } from '../database/write.ts';
import { traceparent } from '../telemetry/tracing.ts';
import { parseBody, readEnvelope } from './envelope.ts';
import { type Handlers, handlerFor } from './handlers/handler.ts';
import { eventKeyOf } from './queue.ts';
import { maxWeight, sharedCommits } from './sharedCommits.ts';
import type { Headers } from './signature.ts';

/** A request whose signature was verified. */
interface Delivery {
  provider: Provider;
  headers: Headers;
  body: Buffer;
}

/** An event as it is stored. */
type ReceivedEvent = NonNullable<ReturnType<typeof eventOf>>;

/** Bytes of bodies in one statement: a few copies of them are in memory while it is sent. */
const maxBytes = 8 * 1024 * 1024;

const storeTogether = sharedCommits(store, ({ body }) => 1 + (body.length / maxBytes) * maxWeight);

/**
 * Stores an event, and adds it to the queue, before it returns; undefined when the body is not JSON. Deliveries
 * that arrive during a commit share the next one. No scope is needed: the signature is the right.
 */
export async function receiveEvent(context: Context, handlers: Handlers, delivery: Delivery) {
  const event = eventOf(context, handlers, delivery);
  if (!event) return undefined;
  const { id: newId, provider, eventId, type, customer, status } = event;
  const id = await storeTogether(context.db, event).catch(error => {
    context.log.warn({ provider, eventId, type, customer }, 'webhook not stored');
    throw error;
  });
  const isNew = id === newId;
  if (isNew && status === 'received') context.callWorkers();
  // A repeated delivery is only counted.
  return { id, eventId, type, customer, outcome: isNew ? status : 'repeated' };
}

function eventOf({ now }: Context, handlers: Handlers, { provider, headers, body }: Delivery) {
  const parsed = parseBody(body);
  if (!parsed) return undefined;
  const { name, preset } = provider;
  const id = newId(now().getTime());
  const createdAt = timeOf(id).toISOString();
  const envelope = readEnvelope(provider, headers, body, parsed.value, now());
  const known = { id, provider: name, preset, ...envelope };
  const handler = handlerFor(handlers, known);
  const fate =
    typeof handler === 'string'
      ? { status: 'ignored' as const, reason: handler }
      : { status: 'received' as const, reason: null };
  const times = { createdAt, updatedAt: createdAt };
  return { ...known, ...fate, deliveries: 1, body, traceparent: traceparent() ?? null, ...times };
}

const { attempts, replays, lastError, failures, processedAt, ...received } = getTableColumns(webhookEvents);
const rows = rowsOfTable(webhookEvents, received);
const { id, provider, fingerprint, customer, status, deliveries } = received;

/**
 * Events and their places in the queue are committed together, because it is one statement. A repeated event is only
 * counted.
 */
const storeEvents = statement({ id, provider, fingerprint }, builder => {
  const stored = builder.$with('stored').as(
    builder
      .insert(webhookEvents)
      .select(rows.select)
      .onConflictDoUpdate({
        target: [fingerprint, provider],
        set: { deliveries: sql`${deliveries} + excluded.deliveries` },
      })
      .returning({ id, provider, fingerprint, customer, status }),
  );
  const isNew = sql`${stored.id}::text = any(${sql.placeholder('id')}::text[]) and ${stored.status} = 'received'`;
  const queued = builder
    .$with('queued')
    .as(
      builder
        .insert(webhookQueue)
        .select(sql`select fingerprint, provider, customer, now(), false from ${stored} where ${isNew}`)
        .onConflictDoNothing()
        .returning({ provider: webhookQueue.provider }),
    );
  return builder
    .with(stored, queued)
    .select({ id: stored.id, provider: stored.provider, fingerprint: stored.fingerprint })
    .from(stored);
});

/** Returns the id under which each event is stored. */
async function store(db: Connection, events: ReceivedEvent[]): Promise<string[]> {
  const groups = [...Map.groupBy(events, eventKeyOf).values()].map(same => ({
    ...(same[0] as ReceivedEvent),
    deliveries: same.length,
  }));
  // In one order, so that two instances with the same events do not lock crosswise.
  groups.sort((a, b) => a.fingerprint.compare(b.fingerprint));
  const storeAll = () => storeEvents(db, rows.valuesOf(groups));
  // An event that is being processed or replayed is locked for a moment. A group does not wait: its events are then
  // stored one by one.
  const stored = await (events.length > 1
    ? storeAll()
    : write({ db }, storeAll, { turns: groups.map(eventKeyOf) }));
  const ids = new Map(stored.map(event => [eventKeyOf(event), event.id]));
  return events.map(event => ids.get(eventKeyOf(event)) as string);
}
