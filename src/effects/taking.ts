import { and, inArray, isNotNull, sql } from '#drizzle/orm.ts';
import { webhookBatches, webhookQueue } from '#drizzle/tables/service/webhookQueue.ts';
import type { Context } from '#src/access/context.ts';
import { need } from '#src/access/need.ts';
import { ofEffects } from '#src/config/providers.ts';
import { orm } from '#src/database/connection.ts';
import { arrayText } from '#src/database/statements/insertRows.ts';
import { statement } from '#src/database/statements/statement.ts';
import { inTransaction } from '#src/database/write.ts';
import type { IncomingEvent } from '#src/webhooks/handler.ts';
import { endEvents, findEvents } from '#src/webhooks/processing.ts';
import { type Batch, batchesOfThisProcess, endBatch, lockInQueue } from '#src/webhooks/queue.ts';

/*
 * A worker takes an effect as a batch with the name of its record, of which there is one at most: the unique index sees
 * to that. They are taken in the order of their versions, but one that has failed does not hold up those after it. While
 * effects run, their worker renews its leases, and holds no connection.
 */

/** For how long an effect is leased: another worker runs it that much later if this one dies. */
const lease = '20 seconds';

const [names, most, leased] = [
  sql`${sql.placeholder('names')}::text[]`,
  sql`${sql.placeholder('most')}::int`,
  sql`${sql.placeholder('lease')}::interval`,
];
const { id, fingerprints } = webhookBatches;
const takeDue = statement(
  { id, fingerprints },
  () => sql`
  with due as (
    select fingerprint, record, version from webhook_queue waiting
    where effect is not null and effect = any(${names}) and due_at <= now()
      and record not in (select record from webhook_batches where record is not null)
      and (
        select true from webhook_queue earlier
        where effect is not null and record = waiting.record and version < waiting.version and not alone
        order by record, version limit 1) is null
    order by due_at limit ${most} for update skip locked
  ), firsts as (select distinct on (record) fingerprint, record from due order by record, version)
  insert into webhook_batches (id, fingerprints, providers, record, leased_until)
  select gen_random_uuid(), array[fingerprint], array[${sql.raw(`'${ofEffects}'`)}], record, now() + ${leased} from firsts
  on conflict (record) do nothing returning id, fingerprints`,
);

/** Makes PostgreSQL use the indexes: it keeps a plan made for an empty queue, which would compare each with each. */
const useIndexes = `select set_config(name, 'off', true) from unnest('{enable_seqscan,enable_bitmapscan,enable_sort}'::text[]) name`;

/** Takes due effects with these names. In an embedded database they need no lease: all others are of a dead process. */
export async function takeEffects(context: Context, names: string[], most: number, isEmbedded: boolean) {
  need(context, 'admin');
  const values = { names: arrayText(names), most, lease: isEmbedded ? null : lease };
  const [, batches] = await inTransaction(context, ({ db }) =>
    Promise.all([db.rows(useIndexes, []), takeDue(db, values)]),
  );
  for (const { id } of batches) batchesOfThisProcess.add(id);
  return batches;
}

const isOurs = () =>
  and(isNotNull(webhookBatches.record), inArray(webhookBatches.id, [...batchesOfThisProcess]));

/** Keeps the effects that this process runs for another while. */
export const renewLeases = ({ db }: Context) =>
  orm(db)
    .update(webhookBatches)
    .set({ leasedUntil: sql`now() + ${lease}::interval` })
    .where(and(isOurs(), isNotNull(webhookBatches.leasedUntil)));

/** Leaves the effects that this process runs to others: their attempts do not count. */
export const leaveEffects = ({ db }: Context) => orm(db).delete(webhookBatches).where(isOurs());

/** Marks an effect as done; returns false if its lease was over, or if it was dismissed or replayed meanwhile. */
export async function finishEffect(context: Context, batch: Batch, event: IncomingEvent): Promise<boolean> {
  need(context, 'admin');
  return inTransaction(context, async inside => {
    const ended = await endBatch(inside.db, batch.id);
    const left = ended ? await lockInQueue(inside.db, ended.keys, ended.begun) : [];
    if (left.length > 0) await endEvents(inside, [event]);
    return left.length > 0;
  });
}

/** Ignores some effects that nobody has begun for a day, because no release has them any more. */
export async function ignoreUnknown(context: Context, names: string[]): Promise<void> {
  need(context, 'admin');
  await inTransaction(context, async inside => {
    const { effect, record, alone, dueAt, fingerprint } = webhookQueue;
    const found = await orm(inside.db)
      .select({ fingerprint })
      .from(webhookQueue)
      .where(
        sql`${effect} is not null and ${effect} <> all(${arrayText(names)}::text[]) and not ${alone}
          and ${dueAt} < now() - interval '1 day'
          and ${record} not in (select record from webhook_batches where record is not null)`,
      )
      .limit(500)
      .for('update', { skipLocked: true });
    const fingerprints = arrayText(found.map(({ fingerprint }) => fingerprint));
    const events = (await findEvents(inside.db, { fingerprints })).filter(({ attempts }) => attempts === 0);
    const reasons = new Map(events.map(({ id }) => [id, 'No release has had this effect for a day.']));
    if (events.length > 0) await endEvents(inside, events, new Set(events), reasons);
  });
}
