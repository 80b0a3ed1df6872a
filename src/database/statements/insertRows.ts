import { type Column, getTableColumns, is, type PgTable, SQL, sql } from '../../../drizzle/orm.ts';

function defaultOf(column: Column): SQL {
  const { default: value } = column;
  if (value === undefined) return sql`null`;
  return is(value, SQL) ? value : sql.raw(`'${column.mapToDriverValue(value)}'`);
}

/**
 * The source of an `insert … select` of any number of rows: one text, with one parameter for each of these columns. The
 * others get their defaults.
 */
export function rowsOfTable<T extends PgTable>(
  table: T,
  given: Record<string, Column> = getTableColumns(table),
) {
  const members = Object.keys(given);
  const name = (member: string) => sql.identifier(member);
  const values = Object.entries<Column>(getTableColumns(table)).map(([member, column]) =>
    Object.hasOwn(given, member)
      ? sql`new.${name(member)}::${sql.raw(column.getSQLType())}`
      : sql`${defaultOf(column)}::${sql.raw(column.getSQLType())}`,
  );
  const arrays = members.map(member => sql`${sql.placeholder(member)}::text[]`);
  const select = sql`select ${sql.join(values, sql`, `)}
    from unnest(${sql.join(arrays, sql`, `)}) as new (${sql.join(members.map(name), sql`, `)})`;
  /** The values of the placeholders. */
  const valuesOf = (rows: T['$inferInsert'][]) =>
    Object.fromEntries(
      Object.entries(given).map(([member, column]) => {
        const each = rows.map(row => row[member as keyof typeof row] ?? null);
        return [
          member,
          arrayText(each.map(value => (value === null ? null : column.mapToDriverValue(value)))),
        ];
      }),
    );
  return { select, valuesOf };
}

/** An array as PostgreSQL reads it. */
export const arrayText = (values: unknown[]) => `{${values.map(elementText).join()}}`;

function elementText(value: unknown): string {
  if (value === null || value === undefined) return 'NULL';
  if (Buffer.isBuffer(value)) return `"\\\\x${value.toString('hex')}"`;
  return `"${String(value).replace(/["\\]/g, '\\$&')}"`;
}
