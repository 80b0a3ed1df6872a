import { getTableColumns, sql } from 'drizzle-orm';
import type { PgTable } from 'drizzle-orm/pg-core';
import { type Orm, prepared } from './database.ts';
import { shared } from './shared.ts';

/** Reads records by id: what is asked for at once is one statement. It finds them in any order, and leaves some out. */
export function sharedRead<T extends { id: string }>(
  find: (db: Orm, ids: string) => Promise<T[]>,
): (db: Orm, id: string) => Promise<T | undefined> {
  return shared(async (db, ids: string[]) => {
    const records = new Map<string, T>();
    for (const record of await find(db, `{${ids.join()}}`)) records.set(record.id, record);
    return ids.map(id => records.get(id));
  });
}

/** Inserts whole rows: what arrives at once is one statement and one commit, and one triggers' work. */
export function sharedInsert<T extends PgTable>(table: T, name: string) {
  const columns = Object.entries(getTableColumns(table));
  const members = sql.raw(columns.map(([member, column]) => `"${member}" ${column.getSQLType()}`).join(', '));
  const names = sql.raw(columns.map(([member]) => `"${member}"`).join(', '));
  const insertion = prepared(name, db =>
    db
      .insert(table)
      .select(
        sql`select ${names} from json_to_recordset(${sql.placeholder('rows')}::text::json) as new (${members})`,
      ),
  );
  return shared(async (db, rows: T['$inferInsert'][]) => {
    await insertion(db, 'only').execute({ rows: JSON.stringify(rows) });
    return rows;
  });
}
