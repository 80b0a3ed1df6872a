import { bytes, instant, textByCode } from '#drizzle/columns.ts';
import { boolean, index, pgTable, primaryKey, sql, text, uuid } from '#drizzle/orm.ts';

/** The events that are still to be processed. */
export const webhookQueue = pgTable(
  'webhook_queue',
  {
    fingerprint: bytes().notNull(),
    provider: textByCode().notNull(),
    customer: textByCode(),
    dueAt: instant('due_at').notNull().default(sql`now()`),
    alone: boolean().notNull().default(false),
  },
  table => [
    primaryKey({ name: 'webhook_queue_primary_key', columns: [table.fingerprint, table.provider] }),
    index('webhook_queue_due_index').on(table.alone, table.dueAt),
  ],
);

/** The events that a worker is about to process together. */
export const webhookBatches = pgTable('webhook_batches', {
  id: uuid().primaryKey(),
  fingerprints: bytes().array().notNull(),
  providers: text().array().notNull(),
  begunAt: instant('begun_at').notNull().default(sql`now()`),
});
