import { digest, instant, textByCode } from '#drizzle/columns.ts';
import { boolean, index, integer, pgTable, primaryKey, sql, text, uniqueIndex, uuid } from '#drizzle/orm.ts';

/** The events that are still to be processed, and the effects that are still to run. */
export const webhookQueue = pgTable(
  'webhook_queue',
  {
    fingerprint: digest().notNull(),
    provider: textByCode().notNull(),
    customer: textByCode(),
    dueAt: instant('due_at').notNull().default(sql`date_trunc('milliseconds', now())`),
    alone: boolean().notNull().default(false),
    effect: textByCode(),
    record: textByCode(),
    version: integer(),
  },
  table => [
    primaryKey({ name: 'webhook_queue_primary_key', columns: [table.fingerprint, table.provider] }),
    index('webhook_queue_due_index').on(table.alone, table.dueAt).where(sql`${table.effect} is null`),
    index('webhook_queue_effect_index').on(table.dueAt).where(sql`${table.effect} is not null`),
    index('webhook_queue_record_index')
      .on(table.record, table.version)
      .where(sql`${table.effect} is not null`),
  ],
);

/** The events that a worker is about to process together, or the effect that it runs. */
export const webhookBatches = pgTable(
  'webhook_batches',
  {
    id: uuid().primaryKey(),
    fingerprints: digest().array().notNull(),
    providers: text().array().notNull(),
    begunAt: instant('begun_at').notNull().default(sql`now()`),
    record: textByCode(),
    leasedUntil: instant('leased_until'),
  },
  table => [uniqueIndex('webhook_batches_record_key').on(table.record)],
);
