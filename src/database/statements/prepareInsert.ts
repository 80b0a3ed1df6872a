import { getTableColumns, type PgTable, sql } from '../../../drizzle/orm.ts';
import type { Connection } from '../connection.ts';
import { builder, type Columns, type Row, rowMapper, runText } from './statement.ts';

/** Rows in one statement. */
const sizes = [64, 48, 32, 24, 16, 12, 8, 6, 4, 3, 2, 1];

type Insert<T extends PgTable> = ReturnType<ReturnType<typeof builder.insert<T>>['values']>;

/**
 * A function that inserts any number of rows, by a few statements that are made once: of 64 rows, of 48, and so on. A
 * distributed database sends each row of such a statement to its node; of a `select` it would first keep copies on all.
 * `defaulted` names members that every row leaves to the database: the driver has work with each value.
 */
export function prepareInsert<T extends PgTable, C extends Columns>(
  table: T,
  columns: C,
  build: (insert: Insert<T>, columns: C) => { toSQL(): ReturnType<Insert<T>['toSQL']> },
  defaulted: Extract<keyof T['$inferInsert'], string>[] = [],
): (db: Connection, rows: T['$inferInsert'][]) => Promise<Row<C>[]> {
  const leftOut = new Set<string>(defaulted);
  const members = Object.entries(getTableColumns(table)).filter(([name]) => !leftOut.has(name));
  const toRecord = rowMapper(columns);
  const texts = new Map<number, string>();
  function textFor(size: number): string {
    const row = Object.fromEntries(members.map(([name]) => [name, sql.placeholder(name)]));
    const rows = Array.from({ length: size }, () => row) as T['$inferInsert'][];
    return build(builder.insert(table).values(rows), columns).toSQL().sql;
  }
  /** In the order of Drizzle. Its placeholders would need a name for each value. */
  const paramsOf = (rows: Record<string, unknown>[]) =>
    rows.flatMap(row =>
      members.map(([name, column]) => {
        const value = row[name] ?? null;
        return value === null ? null : column.mapToDriverValue(value);
      }),
    );
  return async (db, rows) => {
    const inserted: Promise<unknown[][]>[] = [];
    let next = 0;
    for (const size of sizes)
      for (; rows.length - next >= size; next += size) {
        const text = texts.get(size) ?? textFor(size);
        texts.set(size, text);
        inserted.push(runText(db, text, paramsOf(rows.slice(next, next + size))));
      }
    return (await Promise.all(inserted)).flat().map(toRecord);
  };
}
