import { and, inArray, type PgColumn, type SQL } from '../../../drizzle/orm.ts';
import { type Connection, orm } from '../connection.ts';

const most = 1000;

/** Deletes the first matching rows in the order of a column, and returns how many. */
export async function deleteBatch(
  db: Connection,
  { key, matching, order = key }: { key: PgColumn; matching: SQL; order?: PgColumn },
): Promise<number> {
  const first = orm(db).select({ key }).from(key.table).where(matching).orderBy(order).limit(most);
  // It waits for a transaction that changes a row of these, such as a replay: then the row may not match any more.
  const chosen = and(inArray(key, first), matching);
  return (await orm(db).delete(key.table).where(chosen).returning({ key })).length;
}
