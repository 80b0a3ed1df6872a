import { getTableColumns, sql } from 'drizzle-orm';
import type { PgTable } from 'drizzle-orm/pg-core';
import { shared } from './batch.ts';
import type { Orm } from './database.ts';

/** Reads records by id: what is asked for at once is one statement. It finds them in any order, and leaves some out. */
export function sharedRead<T extends { id: string }>(
  find: (db: Orm, ids: string) => Promise<T[]>,
): (db: Orm, id: string) => Promise<T | undefined> {
  return shared('reads', async (db, ids: string[]) => {
    const records = new Map<string, T>();
    for (const record of await find(db, `{${ids.join()}}`)) records.set(record.id, record);
    return ids.map(id => records.get(id));
  });
}

/**
 * The rows of a table out of one JSON text that is given when the statement runs: one parameter, and so one prepared
 * statement, however many rows there are. A member that is left out is null, bytes are written as `bytesIn` says.
 */
export function rowsOf(table: PgTable, given: string) {
  const columns = Object.entries(getTableColumns(table));
  const members = sql.raw(columns.map(([member, column]) => `"${member}" ${column.getSQLType()}`).join(', '));
  const names = sql.raw(columns.map(([member]) => `"${member}"`).join(', '));
  return sql`select ${names} from json_to_recordset(${sql.placeholder(given)}::text::json) as new (${members})`;
}

export const bytesIn = (bytes: Buffer) => `\\x${bytes.toString('hex')}`;
