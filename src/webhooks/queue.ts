import { and, asc, eq, sql } from '../../drizzle/orm.ts';
import type { webhookEvents } from '../../drizzle/tables/webhookEvents.ts';
import { webhookBatches, webhookQueue } from '../../drizzle/tables/webhookQueue.ts';
import type { Connection } from '../database/connection.ts';
import { arrayText } from '../database/statements/arrayText.ts';
import { rowsOfTable } from '../database/statements/insertRows.ts';
import { statement } from '../database/statements/statement.ts';

/*
 * An event is in the queue from its delivery, or its replay, until it is done. A worker takes up to 200 events that are due:
 *
 *   1. It writes down which ones, in a row of `webhook_batches`. Others leave these events to it.
 *   2. In one transaction it locks their rows of the queue, has their effects, and deletes their rows and that of the batch.
 *
 * When 2. fails, the worker gives the batch up: it deletes its row, and each event is tried alone; a batch of one event is a
 * failed attempt. When the worker dies, another finds the row of the batch, which nobody has locked, and does the same. So an
 * event that ends the process is counted, and healthy events cost nothing.
 */

/** The key of an event. */
export type Key = Pick<typeof webhookEvents.$inferSelect, 'fingerprint' | 'provider'>;

/** The events that a worker has taken. */
export interface Batch {
  id: string;
  fingerprints: Buffer[];
}

export const maxBatch = 200;

/** Seconds that a batch may take until its row is locked. */
const grace = sql`interval '1 second'`;

const { fingerprint, provider, customer, dueAt, alone } = webhookQueue;
const { id: batch, fingerprints, providers, begunAt } = webhookBatches;
const isDue = sql`${dueAt} <= now() and ${fingerprint} not in (select unnest(${fingerprints}) from ${webhookBatches})`;

const take = (isAlone: boolean) =>
  statement({ fingerprints }, (builder, columns) => {
    const due = builder.$with('due').as(
      builder
        .select({ fingerprint, provider })
        .from(webhookQueue)
        .where(and(eq(alone, isAlone), isDue))
        .orderBy(asc(dueAt))
        .limit(isAlone ? 1 : maxBatch)
        .for('update', { skipLocked: true }),
    );
    return builder
      .with(due)
      .insert(webhookBatches)
      .select(
        sql`select ${sql.placeholder('id')}::uuid, array_agg(fingerprint), array_agg(provider), now() from due having count(*) > 0`,
      )
      .returning(columns);
  });
const takeTogether = take(false);
const takeAlone = take(true);

/** Takes the events that are due: one of those to be tried alone, or many of the others. Outside of a transaction. */
export async function takeBatch(db: Connection, id: string, isAlone: boolean): Promise<Batch | undefined> {
  const [taken] = await (isAlone ? takeAlone : takeTogether)(db, { id });
  return taken && { id, ...taken };
}

const customerLock = sql`pg_try_advisory_xact_lock(hashtextextended(${provider} || ':' || ${customer}, 0))`;
const claim = statement(
  { fingerprint, provider, isFree: sql<boolean>`${customer} is null or ${customerLock}` },
  (builder, columns) =>
    builder
      .select(columns)
      .from(webhookQueue)
      .innerJoin(webhookBatches, eq(batch, sql.placeholder('id')))
      .innerJoin(
        sql`unnest(${fingerprints}, ${providers}) as taken (fingerprint, provider)`,
        sql`${fingerprint} = taken.fingerprint and ${provider} = taken.provider`,
      )
      .for('update', { of: webhookQueue, skipLocked: true }),
);

/** Locks the events of a batch, until the end of the transaction. Those whose customer another worker serves stay in the queue. */
export async function claimEvents(db: Connection, { id }: Batch): Promise<Key[]> {
  return (await claim(db, { id })).filter(({ isFree }) => isFree);
}

const endById = statement({ fingerprints, providers }, (builder, columns) =>
  builder
    .delete(webhookBatches)
    .where(eq(batch, sql.placeholder('id')))
    .returning(columns),
);
const endAbandoned = statement({ fingerprints, providers }, (builder, columns) => {
  const oldest = builder
    .select({ batch })
    .from(webhookBatches)
    .where(sql`${begunAt} < now() - ${grace}`)
    .orderBy(asc(begunAt))
    .limit(1)
    .for('update', { skipLocked: true });
  return builder.delete(webhookBatches).where(sql`${batch} = ${oldest}`).returning(columns);
});

/** Ends this batch, or else one whose worker has died, and returns its events; undefined if it has ended. */
export async function endBatch(db: Connection, id?: string): Promise<Key[] | undefined> {
  const [ended] = id === undefined ? await endAbandoned(db) : await endById(db, { id });
  return ended?.fingerprints.map((fingerprint, i) => ({
    fingerprint,
    provider: ended.providers[i] as string,
  }));
}

const inKeys = sql`(${fingerprint}, ${provider}) in
  (select * from unnest(${sql.placeholder('fingerprints')}::bytea[], ${sql.placeholder('providers')}::text[]))`;
const valuesOf = (keys: Key[]) => ({
  fingerprints: arrayText(keys.map(key => key.fingerprint)),
  providers: arrayText(keys.map(key => key.provider)),
});

const remove = statement({}, builder => builder.delete(webhookQueue).where(inKeys));

/** Takes events out of the queue. */
export const dequeue = (db: Connection, keys: Key[]) => remove(db, valuesOf(keys));

const separate = statement({}, builder => builder.update(webhookQueue).set({ alone: true }).where(inKeys));

/** From now on, each of these events is tried alone. */
export const separateEvents = (db: Connection, keys: Key[]) => separate(db, valuesOf(keys));

const postpone = statement({}, builder =>
  builder
    .update(webhookQueue)
    .set({ alone: true, dueAt: sql`now() + make_interval(secs => ${sql.placeholder('seconds')})` })
    .where(inKeys),
);

/** Tries an event again later. */
export const postponeEvent = (db: Connection, key: Key, seconds: number) =>
  postpone(db, { ...valuesOf([key]), seconds });

const lock = statement({ fingerprint }, (builder, columns) =>
  builder.select(columns).from(webhookQueue).where(inKeys).orderBy(fingerprint).for('update'),
);

/** Waits for the workers that process these events at this moment. */
export const lockInQueue = (db: Connection, keys: Key[]) => lock(db, valuesOf(keys));

const added = rowsOfTable(webhookQueue, ['fingerprint', 'provider', 'customer']);
const add = statement({}, builder =>
  builder
    .insert(webhookQueue)
    .select(added.select)
    .onConflictDoUpdate({
      target: [fingerprint, provider],
      set: { dueAt: sql`excluded.due_at`, alone: sql`excluded.alone` },
    }),
);

/** Adds events, or makes those that wait for their next attempt due now. */
export const enqueue = (db: Connection, events: (Key & { customer: string | null })[]) =>
  add(db, added.valuesOf(events));
