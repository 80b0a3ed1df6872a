import {
  asc,
  desc,
  getTableName,
  type PgColumn,
  type PgTable,
  type SQL,
  type SQLWrapper,
  sql,
} from '../../../drizzle/orm.ts';
import { firstId, lastId } from '../../core/ids.ts';
import type { RecordTable } from './recordsById.ts';
import { builder } from './statement.ts';

interface PageQuery {
  table: RecordTable;
  /** The id first. */
  columns: Record<string, PgColumn>;
  where: SQL | undefined;
  /** The name of the list that `list_watch` keeps: the table, or `partName`. Undefined when no total is kept. */
  part: SQLWrapper | string | undefined;
  /** Before the id. */
  sort: SQLWrapper[];
  backward: boolean;
}

/** The list of the rows that have this value in this column. The cast writes the value as the database does. */
export function partName(column: PgColumn, value: SQLWrapper): SQL {
  const [name, type] = [`'${getTableName(column.table)}.${column.name}='`, column.getSQLType()].map(sql.raw);
  return sql`${name} || (${value}::${type})::text`;
}

const literal = (id: string) => sql.raw(`'${id}'`);

/**
 * A page of a list, and in the last column of each row the total: one statement, one snapshot. `list_place`
 * (drizzle/migrations/*_totals.sql) knows totals, and where a page begins in the order of ids; with another sort the
 * rows before the page are skipped one by one.
 */
export function pageQuery({ table, columns, where, part, sort, backward }: PageQuery) {
  const direction = backward ? desc : asc;
  const skip = sql.placeholder('skip');
  const counted = part !== undefined;
  const placed = counted && sort.length === 0;
  const place = counted
    ? sql`list_place(${part}, ${placed ? skip : 0}, ${sql.raw(String(backward))}) as place`
    : sql`(select null::bigint as total) as place`;
  // A list whose total is not kept has neither total nor bound.
  const bound = backward
    ? sql`${table.id} < coalesce(place.bound, ${literal(lastId)})`
    : sql`${table.id} >= coalesce(place.bound, ${literal(firstId)})`;
  const page = builder
    .select(columns)
    .from<PgTable>(table)
    .where(placed ? sql`${bound}${where && sql` and ${where}`}` : where)
    .orderBy(...[...sort, table.id].map(column => direction(column)))
    .limit(sql.placeholder('limit'))
    .offset((placed ? sql`place.rest` : skip) as typeof skip)
    .as('record');
  const record: Record<string, SQL> = {};
  for (const [name, { name: column }] of Object.entries(columns))
    record[name] = sql`record.${sql.identifier(column)}`;
  const query = builder
    // No record has a member of this name.
    .select({ ...record, 'total of the list': sql`coalesce(place.total, ${builder.$count(table, where)})` })
    .from(place);
  // A distributed table cannot be in a lateral join.
  return placed ? query.leftJoinLateral(page, sql`true`) : query.leftJoin(page, sql`true`);
}
