import DataLoader from 'dataloader';
import { getTableColumns, type PgColumn, type PgTable, sql } from '#drizzle/orm.ts';
import { isId } from '#src/core/ids.ts';
import { keptIn } from '#src/core/kept.ts';
import type { Connection } from '#src/database/connection.ts';
import { statement, unknownValue } from './statement.ts';

export type RecordTable = PgTable & { id: PgColumn };

/** The most calls that one statement answers. */
const maxBatchSize = 1000;

/**
 * Makes a function that reads a record of a table by id. All calls in one turn of the event loop, of all requests,
 * share a statement. No call joins a statement that was sent already, so no answer is older than its question.
 */
export function recordById<T extends RecordTable>(table: T) {
  type Stored = T['$inferSelect'] & { id: string };
  const byIds = statement(getTableColumns<PgTable>(table), (builder, columns) =>
    builder
      .select(columns)
      .from<PgTable>(table)
      .where(sql`${table.id} = any(${unknownValue('ids', 'text')}::uuid[])`),
  );
  const loaders = new WeakMap<Connection, DataLoader<string, Stored | undefined>>();
  function recordLoader(db: Connection) {
    const read = async (ids: readonly string[]) => {
      const records = (await byIds(db, { ids: `{${[...new Set(ids)].join()}}` })) as Stored[];
      const found = new Map(records.map(record => [record.id, record]));
      return ids.map(id => found.get(id));
    };
    return new DataLoader(read, { cache: false, maxBatchSize, batchScheduleFn: setImmediate });
  }
  return async (db: Connection, id: string): Promise<Stored | undefined> =>
    isId(id) ? keptIn(loaders, db, () => recordLoader(db)).load(id) : undefined;
}
