import { and, inArray, type PgColumn, type SQL } from '#drizzle/orm.ts';
import { type Connection, orm } from '#src/database/connection.ts';

const maxBatch = 1000;

interface Batch {
  key: PgColumn;
  matching: SQL;
  order?: PgColumn;
}

/** Deletes the first matching rows in the order of a column, and returns how many. */
export async function deleteBatch(db: Connection, { key, matching, order = key }: Batch): Promise<number> {
  const first = orm(db).select({ key }).from(key.table).where(matching).orderBy(order).limit(maxBatch);
  // Rows are matched again, because the deletion may wait for a transaction that changes one, such as a replay.
  const chosen = and(inArray(key, first), matching);
  return (await orm(db).delete(key.table).where(chosen).returning({ key })).length;
}
