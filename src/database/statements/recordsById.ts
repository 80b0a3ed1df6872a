import DataLoader from 'dataloader';
import { getTableColumns, type PgColumn, type PgTable, sql } from '../../../drizzle/orm.ts';
import { isId } from '../../core/ids.ts';
import { keptIn } from '../../core/keptIn.ts';
import { batches } from '../../telemetry/metrics.ts';
import type { Connection } from '../connection.ts';
import { statement } from './statement.ts';

export type RecordTable = PgTable & { id: PgColumn };

/** Ids in one statement. */
const maxBatchSize = 200;

/**
 * Reads records of a table by id: `one` in a statement with the other calls of the same turn of the event loop, or
 * `many` at once. No call joins a statement that was sent, so no answer is older than its question. Inside a
 * transaction nothing waits.
 */
export function recordsById<T extends RecordTable>(table: T) {
  type Stored = T['$inferSelect'] & { id: string };
  const byIds = statement(getTableColumns<PgTable>(table), (builder, columns) =>
    builder
      .select(columns)
      .from<PgTable>(table)
      .where(sql`${table.id} = any(${sql.placeholder('ids')}::text::uuid[])`),
  );
  async function many(db: Connection, ids: readonly string[]): Promise<Map<string, Stored>> {
    const records = (await byIds(db, { ids: `{${ids.filter(isId).join()}}` })) as Stored[];
    return new Map(records.map(record => [record.id, record]));
  }
  const loaders = new WeakMap<Connection, DataLoader<string, Stored | undefined>>();
  function loaderOf(db: Connection) {
    const read = async (ids: readonly string[]) => {
      batches.publish({ what: 'reads', size: ids.length });
      const records = await many(db, ids);
      return ids.map(id => records.get(id));
    };
    return new DataLoader(read, { cache: false, maxBatchSize, batchScheduleFn: setImmediate });
  }
  async function one(db: Connection, id: string): Promise<Stored | undefined> {
    if (!isId(id)) return undefined;
    if (db.isTransaction) return (await many(db, [id])).get(id);
    return keptIn(loaders, db, () => loaderOf(db)).load(id);
  }
  return { one, many };
}
