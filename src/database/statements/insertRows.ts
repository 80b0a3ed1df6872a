import { type Column, getTableColumns, is, type PgTable, SQL, sql } from '#drizzle/orm.ts';

/**
 * The source of an `insert … select` of any number of rows: one text, with the rows as JSON in the parameter `$rows`.
 * A column whose default is an expression always gets that default, and one of `computed` its expression: that may read
 * the member of the same name, as text, and those of others.
 */
export function rowsOfTable<T extends PgTable>(
  table: T,
  computed: { [M in keyof T['$inferInsert']]?: SQL } = {},
): SQL {
  const columns = Object.entries<Column>(getTableColumns(table)).map(([member, column]) => {
    const name = sql.identifier(member);
    if (is(column.default, SQL)) return { value: column.default, type: [] };
    const value = computed[member as keyof T['$inferInsert']];
    const type = sql.raw(value ? 'text' : column.getSQLType());
    return { value: value ?? sql`new.${name}`, type: sql`${name} ${type}` };
  });
  const [values, types] = [columns.map(({ value }) => value), columns.flatMap(({ type }) => type)];
  return sql`select ${sql.join(values, sql`, `)}
    from json_to_recordset(${sql.placeholder('$rows')}::text::json) as new (${sql.join(types, sql`, `)})`;
}

/** An array as text that PostgreSQL reads. */
export const arrayText = (values: unknown[]) => `{${values.map(elementText).join()}}`;

const special = /["\\]/;

function elementText(value: unknown): string {
  if (value === null || value === undefined) return 'NULL';
  const text = String(value);
  return `"${special.test(text) ? text.replace(/["\\]/g, '\\$&') : text}"`;
}
