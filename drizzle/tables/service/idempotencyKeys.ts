import { instant, textByCode } from '#drizzle/columns.ts';
import { index, integer, pgTable } from '#drizzle/orm.ts';

/** The requests that came with an Idempotency-Key, and their answers. */
export const idempotencyKeys = pgTable(
  'idempotency_keys',
  {
    // A hash of the caller and the key, which may be long.
    hash: textByCode().primaryKey(),
    fingerprint: textByCode().notNull(),
    createdAt: instant('created_at').notNull(),
    // The answer, written at the end of the transaction that inserts the row.
    status: integer().notNull().default(0),
    location: textByCode(),
    body: textByCode().notNull().default(''),
  },
  table => [index('idempotency_keys_created_at_index').on(table.createdAt)],
);
