import { and, Column, eq, is, isNotNull, type SQL, type SQLWrapper, sql } from '#drizzle/orm.ts';
import { unknown } from '#src/database/statements/statement.ts';
import type { Compared, ListRules } from './rules.ts';

/** Which records a list has, without the values of its filters: in a statement they are placeholders of their names. */
export interface Selection {
  /** The filters that have a value. */
  used: string[];
  hasPeriod: boolean;
  /** The filter that has another value for each parent; undefined for one list. */
  perParent?: string | undefined;
  /** Of the filters with an index, which has the records of a value in the order of creation, the one with the fewest. */
  rarest: string | undefined;
}

/** How a page of a list is read. Each combination is one statement. */
export interface PageReading extends Selection {
  sort: string;
  descending: boolean;
  /**
   * A page by number skips rows. One by cursor begins at a position, or at an end of the list if the cursor is empty.
   */
  from: 'number' | 'position' | 'end';
  brief?: boolean | undefined;
  /** Whether a list that is counted has so few rows that all are read, rather than those of another filter or order. */
  isFew?: boolean;
}

const { placeholder, raw } = sql;
export const joinComma = (parts: SQLWrapper[]) => sql.join(parts, sql`, `);
const tuple = (parts: SQLWrapper[]) => sql`(${joinComma(parts)})`;

/** One of the ids of the placeholder `$parents`, in a statement for each of them. */
export const parent = sql`parent.id`;
export const parents = sql`unnest(string_to_array(${unknown('$parents', 'text')}, ',')::uuid[]) as parent(id)`;

/** Citus refuses an unknown limit of a table that is spread, and no totals of those are kept. */
export const numberIn = ({ counted }: ListRules) => (counted === undefined ? placeholder : unknown);

/** The columns that place a record in the order of the list. */
export const positionColumns = (rules: ListRules, reading: PageReading) => [
  ...sortedBy(rules, reading),
  rules.table.id,
];

/**
 * The columns of the sort. One that has the same value in all records orders nothing, and so a cursor needs no long
 * title.
 */
export const sortedBy = (
  { sorts = {}, filters }: ListRules,
  { sort, used }: Pick<PageReading, 'sort' | 'used'>,
) => (sorts[sort] ?? []).filter(column => !used.some(filter => filters[filter] === column));

export const isById = (rules: ListRules, reading: Pick<PageReading, 'sort' | 'used'>) =>
  sortedBy(rules, reading).length === 0;

const filterValue = (filter: string, { perParent }: Selection): SQLWrapper =>
  filter === perParent ? parent : placeholder(filter);

export const indexedPart = (filter: Compared) => (is(filter, Column) ? filter : filter.indexed);
const valueFor = (filter: Compared, value: SQLWrapper) => (is(filter, Column) ? value : filter.of(value));

/** What the filters select, and the period: a range of ids, because they begin with their time. */
export function matching({ table: { id }, filters }: ListRules, selection: Selection): SQL {
  const period = sql`${id} > ${placeholder('$above')} and ${id} < ${placeholder('$below')}`;
  const conditions = selection.used.map(name => {
    const filter = filters[name] as Compared;
    return eq(indexedPart(filter), valueFor(filter, filterValue(name, selection)));
  });
  return and(selection.hasPeriod ? period : undefined, ...conditions) ?? sql`true`;
}

/** The filter whose index has the records in the order of the list. */
export const indexedFilter = (rules: ListRules, reading: PageReading) =>
  isById(rules, reading) ? reading.rarest : undefined;

/**
 * What matches beyond the position. In the order of ids, the placeholders `$above` and `$below` say where that is.
 *
 * With a prefix, what it compares and the id are compared as a pair, and the order names both. With `column = $1 order by
 * id`, the plan that Postgres keeps for all values reads the primary key and drops what does not match: 150 ms for an
 * action that 3 of 600,000 entries have.
 */
export function rangeCondition(rules: ListRules, reading: PageReading): SQL | undefined {
  const { descending, from, used } = reading;
  const { id } = rules.table;
  const prefix = indexedFilter(rules, reading);
  if (!isById(rules, reading))
    return and(
      from === 'position' ? beyond(positionColumns(rules, reading), descending) : undefined,
      matching(rules, reading),
    );
  if (prefix === undefined) return matching(rules, { ...reading, hasPeriod: true });
  const filter = rules.filters[prefix] as Compared;
  const [indexed, value] = [indexedPart(filter), valueFor(filter, filterValue(prefix, reading))];
  const bound = (name: string) => tuple([value, placeholder(name)]);
  return and(
    sql`${tuple([indexed, id])} > ${bound('$above')} and ${tuple([indexed, id])} < ${bound('$below')}`,
    // It follows from the range, but Postgres must read it to use an index without the nulls.
    isNotNull(indexed),
    matching(rules, { ...reading, used: used.filter(name => name !== prefix), hasPeriod: false }),
  );
}

/** The placeholder of a value of the position. */
export const positionValue = (index: number) => `$${index}`;

function beyond(position: SQLWrapper[], descending: boolean): SQL {
  const values = position.map((part, index) => {
    const value = placeholder(positionValue(index));
    return is(part, Column) ? sql`${value}::text::${raw(part.getSQLType())}` : value;
  });
  return sql`${tuple(position)} ${raw(descending ? '<' : '>')} ${tuple(values)}`;
}
