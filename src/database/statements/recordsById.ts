import { getTableColumns, type PgColumn, type PgTable, sql } from '../../../drizzle/orm.ts';
import { isId } from '../../core/ids.ts';
import { batch } from '../concurrency/batch.ts';
import type { Connection } from '../connection.ts';
import { statement } from './statement.ts';

export type RecordTable = PgTable & { id: PgColumn };

/** Reads records of a table by id: `one` in a batch with other calls of the same turn, or `many` at once. */
export function recordsById<T extends RecordTable>(table: T) {
  type Stored = T['$inferSelect'] & { id: string };
  const byIds = statement(getTableColumns<PgTable>(table), (builder, columns) =>
    builder
      .select(columns)
      .from<PgTable>(table)
      .where(sql`${table.id} = any(${sql.placeholder('ids')}::text::uuid[])`),
  );
  async function many(db: Connection, ids: string[]): Promise<Map<string, Stored>> {
    const records = (await byIds(db, { ids: `{${ids.filter(isId).join()}}` })) as Stored[];
    return new Map(records.map(record => [record.id, record]));
  }
  const batched = batch('reads', async (db, ids: string[]) => {
    const records = await many(db, ids);
    return ids.map(id => records.get(id));
  });
  const one = async (db: Connection, id: string) => (isId(id) ? batched(db, id) : undefined);
  return { one, many };
}
