import {
  and,
  asc,
  Column,
  desc,
  is,
  isNotNull,
  type PgColumn,
  type PgTable,
  type SQL,
  type SQLWrapper,
  sql,
} from '../../../drizzle/orm.ts';
import type { RecordTable } from './recordsById.ts';
import { builder } from './statement.ts';

interface CursorQuery {
  table: RecordTable;
  columns: Record<string, PgColumn | SQL>;
  where: SQL | undefined;
  /** A filter whose column has an index together with the id. */
  lead: { column: PgColumn; value: SQLWrapper } | undefined;
  /** Before the id. With a lead there is none. */
  sort: SQLWrapper[];
  /** Whether the page begins at a place, and not at an end of the list. */
  isPlaced: boolean;
  down: boolean;
}

/** The parts of a place, as `select` and the placeholders name them. */
export const partOfPlace = (index: number) => `place ${index}`;

/**
 * The records on one side of a place, in the order of an index, so that it costs the same at any depth. A row ends in the
 * parts of its place. In the order of ids, the placeholders `above` and `below` are the range; in another order, the
 * place has the values of the sort and the id.
 */
export function cursorQuery({ table, columns, where, lead, sort, isPlaced, down }: CursorQuery) {
  const order = [...(lead ? [lead.column] : sort), table.id];
  const place = [...sort, table.id];
  const parts = place.map((part, index) => [partOfPlace(index), sql`${part}::text`.as(partOfPlace(index))]);
  const range = sort.length === 0 ? idsInRange(table.id, lead) : isPlaced && beyond(place, down);
  return builder
    .select({ ...columns, ...Object.fromEntries(parts) })
    .from<PgTable>(table)
    .where(and(range || undefined, where))
    .orderBy(...order.map(part => (down ? desc(part) : asc(part))))
    .limit(sql.placeholder('limit'));
}

/**
 * With a lead, column and id are compared as a pair and the order names both. With `column = $1 order by id`, the plan
 * that Postgres keeps for all values reads the primary key and drops what does not match: 150 ms for an action that 3
 * of 600,000 entries have.
 */
function idsInRange(id: PgColumn, lead: CursorQuery['lead']): SQL | undefined {
  const key = tuple(lead ? [lead.column, id] : [id]);
  const bound = (name: string) => tuple([...(lead ? [lead.value] : []), sql.placeholder(name)]);
  return and(
    sql`${key} > ${bound('above')}`,
    sql`${key} < ${bound('below')}`,
    // It follows from the range, but Postgres must read it to use an index without the nulls.
    lead && isNotNull(lead.column),
  );
}

function beyond(key: SQLWrapper[], down: boolean): SQL {
  const place = key.map((part, index) => {
    const value = sql.placeholder(partOfPlace(index));
    return is(part, Column) ? sql`${value}::text::${sql.raw(part.getSQLType())}` : value;
  });
  return sql`${tuple(key)} ${sql.raw(down ? '<' : '>')} ${tuple(place)}`;
}

const tuple = (parts: SQLWrapper[]) => sql`(${sql.join(parts, sql`, `)})`;

/** One of the ids of the placeholder `owners`, in a query for each of them. */
export const owner = sql<string>`owner.id`;
export const owners = sql`unnest(string_to_array(${sql.placeholder('owners')}, ',')::uuid[]) as owner(id)`;

/** The same page for each owner, with its id in the last column: one statement, whatever their number. */
export function eachOwner(query: ReturnType<typeof cursorQuery>) {
  const page = query.as('page');
  return builder
    .select({ ...page._.selectedFields, 'owner of the page': owner })
    .from(owners)
    .crossJoinLateral(page)
    .limit(sql.placeholder('most'));
}
