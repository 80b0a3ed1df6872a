import { type Column, getTableColumns, is, type PgTable, SQL, sql } from '#drizzle/orm.ts';

/**
 * The source of an `insert … select` of any number of rows: one text, with the rows as JSON in the parameter `$rows`.
 * A column whose default is an expression always gets that default.
 */
export function rowsOfTable(table: PgTable): SQL {
  const columns = Object.entries<Column>(getTableColumns(table)).map(([member, column]) => {
    const name = sql.identifier(member);
    return is(column.default, SQL)
      ? { value: column.default, type: [] }
      : { value: sql`new.${name}`, type: sql`${name} ${sql.raw(column.getSQLType())}` };
  });
  const [values, types] = [columns.map(({ value }) => value), columns.flatMap(({ type }) => type)];
  return sql`select ${sql.join(values, sql`, `)}
    from json_to_recordset(${sql.placeholder('$rows')}::text::json) as new (${sql.join(types, sql`, `)})`;
}

/** An array as text that PostgreSQL reads. */
export const arrayText = (values: unknown[]) => `{${values.map(elementText).join()}}`;

function elementText(value: unknown): string {
  if (value === null || value === undefined) return 'NULL';
  return `"${String(value).replace(/["\\]/g, '\\$&')}"`;
}
