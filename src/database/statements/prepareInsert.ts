import { getTableColumns, type PgTable, sql } from '../../../drizzle/orm.ts';
import type { Connection } from '../connection.ts';
import { type builder, type Columns, type Row, statement } from './statement.ts';

/** Rows in one statement. */
const sizes = [64, 32, 16, 8, 4, 2, 1];

type Insert<T extends PgTable> = ReturnType<ReturnType<typeof builder.insert<T>>['values']>;

/**
 * A function that inserts any number of rows, by a few statements that are made once: of 64 rows, of 32, and so on. A
 * distributed database sends each row of such a statement to its node; of a `select` it would first keep copies on all.
 */
export function prepareInsert<T extends PgTable, C extends Columns>(
  table: T,
  columns: C,
  build: (insert: Insert<T>, columns: C) => { toSQL(): ReturnType<Insert<T>['toSQL']> },
): (db: Connection, rows: T['$inferInsert'][]) => Promise<Row<C>[]> {
  const names = Object.keys(getTableColumns(table));
  type Run = (db: Connection, values: Record<string, unknown>) => Promise<Row<C>[]>;
  const made = new Map<number, Run>();
  function insertOf(size: number): Run {
    const rowAt = (n: number) =>
      Object.fromEntries(names.map(name => [name, sql.placeholder(`${n} ${name}`)]));
    const rows = Array.from({ length: size }, (_, n) => rowAt(n)) as T['$inferInsert'][];
    return statement(columns, builder => build(builder.insert(table).values(rows), columns));
  }
  return async (db, rows) => {
    const inserted: Promise<Row<C>[]>[] = [];
    let next = 0;
    for (const size of sizes)
      for (; rows.length - next >= size; next += size) {
        const insert = made.get(size) ?? insertOf(size);
        made.set(size, insert);
        inserted.push(insert(db, valuesOf(names, rows.slice(next, next + size))));
      }
    return (await Promise.all(inserted)).flat();
  };
}

function valuesOf(names: string[], rows: Record<string, unknown>[]): Record<string, unknown> {
  const values: Record<string, unknown> = {};
  for (const [n, row] of rows.entries()) for (const name of names) values[`${n} ${name}`] = row[name] ?? null;
  return values;
}
