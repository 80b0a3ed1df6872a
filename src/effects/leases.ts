import { randomUUID } from 'node:crypto';
import { and, eq, type SQL, sql } from '#drizzle/orm.ts';
import { webhookEvents } from '#drizzle/tables/service/webhookEvents.ts';
import { webhookQueue } from '#drizzle/tables/service/webhookQueue.ts';
import type { Context } from '#src/access/context.ts';
import { need } from '#src/access/need.ts';
import { ofEffects } from '#src/config/providers.ts';
import { orm } from '#src/database/connection.ts';
import { arrayText } from '#src/database/statements/insertRows.ts';
import { type Row, rowsOf, statement } from '#src/database/statements/statement.ts';
import { inTransaction } from '#src/database/write.ts';
import { failEvent, finishEvents, pauseSeconds, type Retries } from '#src/webhooks/processing.ts';
import { dequeue, hasFingerprint, type Key, postpone } from '#src/webhooks/queue.ts';

/*
 * A worker takes effects by a lease: their rows in the queue name it, and are due again when it ends. The worker renews
 * it while they run, so nothing is locked and no connection is held meanwhile. Whoever ends an effect names the lease,
 * too: a worker that was frozen until its lease was over changes nothing.
 *
 * A record has one effect at a time. They run in the order of its versions, but one that has failed does not hold up
 * those after it. Workers take one after the other, so each sees what the others have taken.
 */

/** Seconds for which a lease lasts, and after which it is renewed. */
const leaseSeconds = 20;
export const renewEvery = 5;

/** The leases of this process. In an embedded database all others are those of a process that has ended. */
const leases = new Set<string>();

/** An effect that a worker has taken. */
export interface Taken extends Key {
  lease: string;
}
export type Done = Taken & { id: string };

const isEffect = sql.raw(`provider = '${ofEffects}'`);

const inSeconds = (seconds: number) => sql`now() + ${sql.raw(`interval '${seconds} seconds'`)}`;
const placeholders = {
  lease: sql`${sql.placeholder('lease')}::uuid`,
  names: sql`${sql.placeholder('names')}::text[]`,
  most: sql`${sql.placeholder('most')}::int`,
};
const takeDue = rowsOf(sql`
  with due as (
    select fingerprint, record, version from webhook_queue waiting
    where effect is not null and effect = any(${placeholders.names}) and lease is null and due_at <= now()
      and record not in (select record from webhook_queue where lease is not null)
      and (
        select true from webhook_queue earlier
        where effect is not null and record = waiting.record and version < waiting.version and not alone
        order by record, version limit 1) is null
    order by due_at limit ${placeholders.most} for update skip locked
  ), firsts as (select distinct on (record) fingerprint from due order by record, version)
  update webhook_queue set lease = ${placeholders.lease}, due_at = ${inSeconds(leaseSeconds)}
  where fingerprint = any(array(select fingerprint from firsts)) and ${isEffect} returning fingerprint`);

/**
 * Makes workers take one after the other, and PostgreSQL find what is due by the indexes: it would keep a plan that was
 * made for an empty queue, and compare each effect with each.
 */
const lockQueue = `select pg_advisory_xact_lock(hashtextextended('${ofEffects}', 0)),
  set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true), set_config('enable_sort', 'off', true)`;

/** Takes due effects with these names, and gives them to `use`: the lease is kept until that settles. */
export async function takeEffects(
  context: Context,
  names: string[],
  most: number,
  use: (taken: Taken[]) => Promise<unknown>,
): Promise<number> {
  need(context, 'admin');
  const lease = randomUUID();
  leases.add(lease);
  let using: Promise<unknown> = Promise.resolve();
  try {
    const rows = await inTransaction(context, async ({ db }) => {
      const [, taken] = await Promise.all([
        db.rows(lockQueue, []),
        takeDue(db, { names: arrayText(names), most, lease }),
      ]);
      return taken;
    });
    const taken = rows.map(([fingerprint]) => ({
      fingerprint: Buffer.from(fingerprint as Uint8Array),
      provider: ofEffects,
      lease,
    }));
    if (taken.length > 0) using = use(taken);
    return taken.length;
  } finally {
    using.finally(() => leases.delete(lease)).catch(() => {});
  }
}

const { id, eventId, type, provider, fingerprint, attempts, body, traceparent } = webhookEvents;
const columns = { id, eventId, type, fingerprint, attempts, body, traceparent };
export type EffectEvent = Row<typeof columns>;
const readEvents = statement(columns, (builder, columns) =>
  builder
    .select(columns)
    .from(webhookEvents)
    .where(and(hasFingerprint, eq(provider, ofEffects))),
);

/** The events of effects. A crashed node of Citus may not show one yet. */
export const eventsOfEffects = ({ db }: Pick<Context, 'db'>, keys: Key[]): Promise<EffectEvent[]> =>
  readEvents(db, { fingerprints: arrayText(keys.map(({ fingerprint }) => fingerprint)) });

const { lease: leaseColumn, dueAt, alone, effect } = webhookQueue;
const isTaken = ({ fingerprint, provider, lease }: Taken) =>
  and(eq(webhookQueue.fingerprint, fingerprint), eq(webhookQueue.provider, provider), eq(leaseColumn, lease));
const isOurs = () => sql`${leaseColumn} = any(${arrayText([...leases])}::uuid[])`;

/** Keeps the effects that run for another while. */
export const renewLeases = ({ db }: Context) =>
  leases.size === 0
    ? Promise.resolve()
    : orm(db)
        .update(webhookQueue)
        .set({ dueAt: inSeconds(leaseSeconds) })
        .where(isOurs());

/** Leaves all effects that run to other workers, at once: their attempts do not count. */
export const leaveAll = ({ db }: Context) =>
  orm(db).update(webhookQueue).set({ lease: null, dueAt: sql`now()` }).where(isOurs());

const fingerprints = sql`${sql.placeholder('fingerprints')}::bytea[]`;
const leasesOfDone = sql`${sql.placeholder('leases')}::uuid[]`;
const dequeueTaken = rowsOf(sql`
  delete from webhook_queue where fingerprint = any(${fingerprints}) and ${isEffect}
    and (fingerprint, lease) in (select * from unnest(${fingerprints}, ${leasesOfDone})) returning fingerprint`);

/** Marks effects as done whose leases are not over, and returns which those are. */
export async function finishEffects(context: Context, done: readonly Done[]): Promise<boolean[]> {
  need(context, 'admin');
  return inTransaction(context, async ({ db, now }) => {
    const rows = await dequeueTaken(db, {
      fingerprints: arrayText(done.map(({ fingerprint }) => fingerprint)),
      leases: arrayText(done.map(({ lease }) => lease)),
    });
    const ended = new Set(rows.map(([fingerprint]) => hexOf(fingerprint)));
    const isOurs = done.map(({ fingerprint }) => ended.has(hexOf(fingerprint)));
    const ours = done.filter((_, i) => isOurs[i]);
    if (ours.length > 0) await finishEvents(db, ending(ours, now(), 'processed'));
    return isOurs;
  });
}

const hexOf = (bytes: unknown) => Buffer.from(bytes as Uint8Array).toString('hex');

const ending = (
  events: (Pick<Key, 'fingerprint'> & { id: string })[],
  time: Date,
  status: string,
  reason?: string,
) => ({
  ids: arrayText(events.map(({ id }) => id)),
  statuses: arrayText(events.map(() => status)),
  reasons: arrayText(events.map(() => reason)),
  fingerprints: arrayText(events.map(({ fingerprint }) => fingerprint)),
  time: time.toISOString(),
});

/** Ends a failed attempt; undefined if the lease is over. */
export const failEffect = (context: Context, taken: Taken, error: unknown, retries: Retries) =>
  inTransaction(context, async inside => {
    const mine = await orm(inside.db)
      .select({ effect })
      .from(webhookQueue)
      .where(isTaken(taken))
      .for('update');
    return mine.length > 0 ? failEvent(inside, taken, error, retries) : undefined;
  });

/** Tries an effect again in a moment: the database does not show yet what it is about. */
export const delayEffect = async ({ db }: Context, taken: Taken): Promise<void> =>
  void (await postpone(db, [taken], pauseSeconds));

/** The effects whose worker has ended, or has lost its database. */
export async function deadEffects({ db }: Context, isEmbedded: boolean): Promise<Taken[]> {
  const isOver: SQL = isEmbedded ? sql`not ${isOurs()}` : sql`${dueAt} <= now()`;
  const found = await orm(db)
    .select({ fingerprint: webhookQueue.fingerprint, provider: webhookQueue.provider, lease: leaseColumn })
    .from(webhookQueue)
    .where(sql`${leaseColumn} is not null and ${isOver}`)
    .limit(100);
  return found as Taken[];
}

/** Ignores some of the effects that nobody has begun for a day, because no release has them; returns how many. */
export const ignoreUnknown = (context: Context, names: string[]) =>
  inTransaction(context, async ({ db, now }) => {
    const isUnknown = sql`${effect} is not null and ${effect} <> all(${arrayText(names)}::text[])`;
    const hasNotBegun = sql`${leaseColumn} is null and not ${alone} and ${dueAt} < now() - interval '1 day'`;
    const found = await orm(db)
      .select({ fingerprint: webhookQueue.fingerprint, provider: webhookQueue.provider })
      .from(webhookQueue)
      .where(and(isUnknown, hasNotBegun))
      .limit(500)
      .for('update', { skipLocked: true });
    // Their workers may also have died.
    const events = (await eventsOfEffects({ db }, found)).filter(({ attempts }) => attempts === 0);
    if (events.length > 0) {
      await finishEvents(db, ending(events, now(), 'ignored', 'No effect of this name for a day.'));
      await dequeue(
        db,
        events.map(({ fingerprint }) => ({ fingerprint, provider: ofEffects })),
      );
    }
    return events.length;
  });
