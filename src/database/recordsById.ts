import { getTableColumns, sql } from 'drizzle-orm';
import type { PgColumn, PgTable } from 'drizzle-orm/pg-core';
import { batch } from './batch.ts';
import type { Connection } from './connection.ts';
import { statement } from './statement.ts';

/** Reads records of a table by id: `one` together with all that is asked for in the same turn, or `many` at once. */
export function recordsById<T extends PgTable & { id: PgColumn }>(table: T) {
  type Found = T['$inferSelect'] & { id: string };
  const byIds = statement(getTableColumns<PgTable>(table), (builder, columns) =>
    builder
      .select(columns)
      .from<PgTable>(table)
      .where(sql`${table.id} = any(${sql.placeholder('ids')}::text::uuid[])`),
  );
  async function many(db: Connection, ids: string[]): Promise<Map<string, Found>> {
    const records = (await byIds(db, { ids: `{${ids.join()}}` })) as Found[];
    return new Map(records.map(record => [record.id, record]));
  }
  const one = batch('reads', async (db, ids: string[]) => {
    const records = await many(db, ids);
    return ids.map(id => records.get(id));
  });
  return { one, many };
}
