import { and, inArray, isNotNull, sql } from '#drizzle/orm.ts';
import { webhookBatches } from '#drizzle/tables/service/webhookQueue.ts';
import type { Context } from '#src/access/context.ts';
import { need } from '#src/access/need.ts';
import { type Connection, orm } from '#src/database/connection.ts';
import { arrayText } from '#src/database/statements/insertRows.ts';
import { statement } from '#src/database/statements/statement.ts';
import { inTransaction } from '#src/database/write.ts';
import { batchesOfThisProcess, fingerprintsAsText } from '#src/webhooks/queue.ts';

/*
 * A worker takes an effect as a batch with the name of its record, of which there is one at most: the unique index sees
 * to that. They are taken in the order of their versions, but one that has failed does not hold up those after it. While
 * effects run, their worker renews its leases, and holds no connection.
 */

/** For how long an effect is leased: if its worker dies, another one runs it after that time at most. */
const lease = '20 seconds';

const names = sql`${sql.placeholder('names')}::text[]`;
const { id } = webhookBatches;
/** Takes effects with these names, and those that nobody has begun for a day, because no worker knows them any more. */
const takeDue = statement(
  { id, fingerprints: fingerprintsAsText },
  () => sql`
  with due as (
    select fingerprint, record from webhook_queue waiting
    where effect is not null and due_at <= now()
      and (effect = any(${names}) or not alone and due_at < now() - interval '1 day')
      and record not in (select record from webhook_batches where record is not null)
      and (
        select true from webhook_queue earlier
        where effect is not null and record = waiting.record and version < waiting.version
          and (not alone or due_at <= now() and effect = any(${names}))
        order by record, version limit 1) is null
    order by due_at limit ${sql.placeholder('most')}::int for update skip locked
  )
  insert into webhook_batches (id, fingerprints, providers, record, leased_until)
  select gen_random_uuid(), array[fingerprint], array['effects'], record, now() + ${sql.placeholder('lease')}::interval
  from due on conflict (record) do nothing returning id, ${fingerprintsAsText}`,
);

/**
 * Makes a transaction see what others have taken, and PostgreSQL use the indexes: it keeps a plan made for an empty
 * queue, which would compare each with each.
 */
const begin = `set transaction isolation level read committed; set local enable_seqscan = off;
  set local enable_bitmapscan = off; set local enable_sort = off`;

/** Takes due effects. In an embedded database they need no lease: all others are of a dead process. */
export async function takeEffects(context: Context, names: string[], most: number, isEmbedded: boolean) {
  need(context, 'admin');
  const values = { names: arrayText(names), most, lease: isEmbedded ? null : lease };
  const [, batches] = await inTransaction(context, ({ db }) =>
    Promise.all([db.rows(begin, []), takeDue(db, values)]),
  );
  for (const { id } of batches) batchesOfThisProcess.add(id);
  return batches;
}

const isOurs = () => and(isNotNull(webhookBatches.record), inArray(id, [...batchesOfThisProcess]));

/** Renews the leases of this process; returns the ids of those that no other worker has ended meanwhile. */
export async function renewLeases(db: Connection): Promise<Set<string>> {
  const leasedUntil = sql`now() + ${lease}::interval`;
  const renewed = await orm(db).update(webhookBatches).set({ leasedUntil }).where(isOurs()).returning({ id });
  return new Set(renewed.map(({ id }) => id));
}

/** Leaves the effects that this process runs to others: their attempts do not count. */
export const leaveEffects = (db: Connection) => orm(db).delete(webhookBatches).where(isOurs());
