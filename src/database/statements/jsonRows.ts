import { getTableColumns, type PgTable, sql } from '../../../drizzle/orm.ts';

/**
 * Rows of a table out of the placeholder `rows`, a JSON text: one parameter, and so one prepared statement, for any number
 * of rows. An absent member is null; bytes are written by `hexBytes`.
 */
export function rowsFromJson(table: PgTable) {
  const columns = Object.entries(getTableColumns(table));
  const members = sql.raw(columns.map(([member, column]) => `"${member}" ${column.getSQLType()}`).join(', '));
  const names = sql.raw(columns.map(([member]) => `"${member}"`).join(', '));
  return sql`select ${names} from json_to_recordset(${sql.placeholder('rows')}::text::json) as new (${members})`;
}

export const hexBytes = (bytes: Buffer) => `\\x${bytes.toString('hex')}`;

/** An array as PostgreSQL reads it. */
export const arrayText = (values: string[]) =>
  `{${values.map(value => `"${value.replace(/["\\]/g, '\\$&')}"`).join()}}`;
