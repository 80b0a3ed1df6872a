import { and, asc, eq, isNull, lte, sql } from '#drizzle/orm.ts';
import { webhookEvents } from '#drizzle/tables/service/webhookEvents.ts';
import { webhookBatches, webhookQueue } from '#drizzle/tables/service/webhookQueue.ts';
import type { Context } from '#src/access/context.ts';
import { need } from '#src/access/need.ts';
import { newId } from '#src/core/ids.ts';
import { keptIn } from '#src/core/kept.ts';
import { type Connection, orm } from '#src/database/connection.ts';
import { arrayText } from '#src/database/statements/insertRows.ts';
import { statement } from '#src/database/statements/statement.ts';
import { inTransaction } from '#src/database/write.ts';

/*
 * An event is in the queue from its delivery, or its replay, until it is done. What a worker takes is a batch. Others
 * know in one of two ways that its worker lives. Events of webhooks only write to the database: the transaction that
 * does so holds a lock. An effect waits for other services, and nothing may be locked meanwhile: it is a batch by
 * itself, with a lease that its worker renews (src/effects/taking.ts). All else is the same for both.
 *
 * A worker takes up to 200 events of webhooks that are due:
 *
 *   1. It begins a transaction, in which it locks the id of the batch.
 *   2. It writes the keys of these events to a row of `webhook_batches`, on another connection. Other workers leave
 *      these events alone, but two that write at the same moment may name the same event. The embedded database has
 *      one connection and one process: there this step is the first.
 *   3. In its transaction it deletes the row of the batch and the rows of these events in the queue, but for those that
 *      are locked or of a customer that another worker serves: only one of two such workers gets an event. It applies
 *      the effects.
 *
 * When step 3 fails, the worker gives the batch up: it deletes its row, and each event is tried alone; a batch of one
 * event is a failed attempt. When the worker dies, another finds twice that nobody has locked the id of the batch, and
 * does the same. This way an event that kills the process also fails an attempt.
 */

/** The key of an event. */
export type Key = Pick<typeof webhookEvents.$inferSelect, 'fingerprint' | 'provider'>;

export const eventKeyOf = ({ fingerprint, provider }: Key) => `${fingerprint} ${provider}`;

/** Finds events by the placeholder `fingerprints`, by which a distributed database also finds their nodes. */
export const hasFingerprint = sql`${webhookEvents.fingerprint} = any(${sql.placeholder('fingerprints')}::bytea[])`;

/** The events that a worker has taken: their fingerprints as the text of an array. */
export interface Batch {
  id: string;
  fingerprints: string;
}

export const maxBatch = 200;

const { fingerprint, provider, customer, dueAt, alone, effect } = webhookQueue;
const { id: batch, fingerprints, providers, begunAt, leasedUntil } = webhookBatches;
const isDue = sql`${dueAt} <= now() and ${fingerprint} not in (select unnest(${fingerprints}) from ${webhookBatches})`;

export const fingerprintsAsText = sql<string>`${fingerprints}::text`;

const take = statement({ fingerprints: fingerprintsAsText }, (builder, columns) => {
  const due = builder.$with('due').as(
    builder
      .select({ fingerprint, provider })
      .from(webhookQueue)
      .where(and(isNull(effect), eq(alone, sql.placeholder('isAlone')), isDue))
      .orderBy(asc(dueAt))
      .limit(sql.placeholder('most'))
      .for('update', { skipLocked: true }),
  );
  const taken = sql`select ${sql.placeholder('id')}::uuid, array_agg(fingerprint), array_agg(provider), now(), null, null::timestamptz`;
  return builder
    .with(due)
    .insert(webhookBatches)
    .select(sql`${taken} from ${due} having count(*) > 0`)
    .returning(columns);
});

/** Takes due events: one of those to be tried alone, or many of the others. It runs outside of a transaction. */
export async function takeBatch(db: Connection, id: string, isAlone: boolean): Promise<Batch | undefined> {
  const [taken] = await take(db, { id, isAlone, most: isAlone ? 1 : maxBatch });
  return taken && { id, ...taken };
}

/**
 * The effects that this process runs, and the batches of an embedded database, which look unlocked to its session: that
 * holds the locks.
 */
export const batchesOfThisProcess = new Set<string>();

interface Worker {
  /** Where the batch is taken: on another connection than that of the transaction, if there is one. */
  outside: Connection;
  isEmbedded: boolean;
  isAlone: boolean;
}

/**
 * Takes a batch and works on it, in a transaction that locks its id before others can see it: the lock shows them that
 * the worker lives, however long it waits for a connection. Ends an attempt that fails. Undefined if nothing is due.
 */
export async function workOnBatch<T>(
  context: Context,
  { outside, isEmbedded, isAlone }: Worker,
  work: (inside: Context, batch: Batch) => Promise<T>,
  endAttempt: (error: unknown, batch: Batch) => Promise<T>,
): Promise<T | undefined> {
  need(context, 'admin');
  const id = newId(context.now().getTime());
  let taken: Batch | undefined;
  if (isEmbedded) batchesOfThisProcess.add(id);
  try {
    // Takes the batch before the transaction, which will hold the only connection.
    if (isEmbedded) taken = await takeBatch(outside, id, isAlone);
    if (isEmbedded && !taken) return undefined;
    return await inTransaction(context, async inside => {
      // The transaction must see the batch, which is written after it begins.
      const level = inside.db.rows('set transaction isolation level read committed', []);
      await Promise.all([
        level,
        inside.db.rows('select pg_advisory_xact_lock(hashtextextended($1, 0))', [id]),
      ]);
      taken ??= await takeBatch(outside, id, isAlone);
      return taken && work(inside, taken);
    });
  } catch (error) {
    if (!taken) throw error;
    return await endAttempt(error, taken);
  } finally {
    batchesOfThisProcess.delete(id);
  }
}

const customerLock = sql`pg_try_advisory_xact_lock(hashtextextended(${provider} || ':' || ${customer}, 0))`;
const isFree = sql<boolean>`${customer} is null or ${customerLock}`;

/**
 * Locks the events one after the other: without the limit, each would be compared with each. The place of one that has
 * just changed is that of its new version, which this statement does not see: it is neither deleted nor claimed.
 */
const claim = statement(
  { fingerprint, provider, isFree },
  () => sql`
  with ended as (
    delete from webhook_batches where id = ${sql.placeholder('id')} returning fingerprints, providers, begun_at
  ), locked as (
    select own.* from ended cross join unnest(fingerprints, providers) as taken (fingerprint, provider)
    cross join lateral (
      select fingerprint, provider, ${isFree} as is_free, ctid as place from webhook_queue
      where fingerprint = taken.fingerprint and provider = taken.provider and due_at <= begun_at
      limit 1 for update skip locked
    ) as own
  ), gone as (
    delete from webhook_queue where ctid = any (array(select place from locked where is_free))
    returning fingerprint, provider
  )
  select *, true from gone union all select fingerprint, provider, false from locked where not is_free`,
);

/**
 * Ends a batch, and takes its events out of the queue; none if it has ended before. Those of customers that another
 * worker serves are not free: they are locked until the end of the transaction.
 */
export async function claimEvents(db: Connection, id: string) {
  const [, claimed] = await Promise.all([
    // Makes PostgreSQL use the index: the plan that it keeps since the queue was empty would read a long queue.
    db.rows('set local enable_seqscan = off', []),
    claim(db, { id }),
    db.rows('set local enable_seqscan to default', []),
  ]);
  return claimed;
}

/** When this process first saw each batch that nobody has locked. */
const unlocked = new Map<string, number>();
/** Milliseconds. After a failed transaction, a worker holds no lock until its next one begins. */
const betweenLooks = 900;

/** Ends a batch that two looks have found without a lock or lease: its worker has died. Returns what `endBatch` does. */
export async function endDeadBatch(db: Connection) {
  const found = await orm(db)
    .select({ id: batch })
    .from(webhookBatches)
    .where(
      sql`${batch} <> all(${arrayText([...batchesOfThisProcess])}::uuid[]) and coalesce(${leasedUntil} < now(), true)
        and pg_try_advisory_xact_lock(hashtextextended(${batch}::text, 0))`,
    )
    .for('update', { skipLocked: true });
  const ids = new Set(found.map(({ id }) => id));
  for (const id of unlocked.keys()) if (!ids.has(id)) unlocked.delete(id);
  const now = performance.now();
  const dead = [...ids].find(id => now - keptIn(unlocked, id, () => now) > betweenLooks);
  return dead === undefined ? undefined : endBatch(db, dead);
}

/** Ends a batch, and returns its events and when it began; undefined if it has ended before. */
export async function endBatch(db: Connection, id: string) {
  const [ended] = await orm(db)
    .delete(webhookBatches)
    .where(eq(batch, id))
    .returning({ prints: sql<string[]>`${fingerprints}::text[]`, names: providers, begun: begunAt });
  if (!ended) return undefined;
  const { prints, names, begun } = ended;
  return { keys: prints.map((fingerprint, i) => ({ fingerprint, provider: names[i] as string })), begun };
}

const keyIsIn = (keys: Key[]) => sql`(${fingerprint}, ${provider}) in (select * from
  unnest(${arrayText(keys.map(key => key.fingerprint))}::bytea[], ${arrayText(keys.map(key => key.provider))}::text[]))`;

/** The time now; `now()` is the start of the transaction. It is cut, because a column may round it into the future. */
const currentTime = sql`date_trunc('milliseconds', clock_timestamp())`;

/** Takes events out of the queue. */
export const dequeue = (db: Connection, keys: Key[]) => orm(db).delete(webhookQueue).where(keyIsIn(keys));

/** Tries events again after some seconds: from then on alone, or as before. */
export const postpone = (db: Connection, keys: Key[], seconds: number, alone = false) =>
  orm(db)
    .update(webhookQueue)
    .set({ ...(alone && { alone }), dueAt: sql`${currentTime} + make_interval(secs => ${seconds})` })
    .where(keyIsIn(keys));

/** Locks events, once the workers that process them are done; returns those due by `moment`, or all without one. */
export const lockInQueue = (db: Connection, keys: Key[], moment?: string): Promise<Key[]> =>
  orm(db)
    .select({ fingerprint, provider })
    .from(webhookQueue)
    .where(and(keyIsIn(keys), moment === undefined ? undefined : lte(dueAt, moment)))
    .orderBy(fingerprint, provider)
    .for('update');

/** Adds events, or makes those that wait for their next attempt due now. */
export const enqueue = (db: Connection, events: (typeof webhookQueue.$inferInsert)[]) =>
  orm(db)
    .insert(webhookQueue)
    .values(events)
    .onConflictDoUpdate({
      target: [fingerprint, provider],
      set: { dueAt: currentTime, alone: false },
    });
