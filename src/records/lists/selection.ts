import { and, Column, eq, is, isNotNull, type SQL, type SQLWrapper, sql } from '#drizzle/orm.ts';
import { unknownValue } from '#src/database/statements/statement.ts';
import type { Compared, ListRules } from './rules.ts';

/** Which records a list has, without the values of its filters: a statement has placeholders with their names. */
export interface Selection {
  /** The filters that have a value. */
  used: string[];
  hasPeriod: boolean;
  /** The filter that has a different value for each parent; undefined for one list. */
  perParent?: string | undefined;
  /** The filter that selects the fewest records, of those whose index orders the records of a value by creation. */
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
  /** Whether to read all rows of the rarest filter, then filter and sort them, because they are few. */
  isFew?: boolean;
}

const { placeholder, raw } = sql;
export const joinComma = (parts: SQLWrapper[]) => sql.join(parts, sql`, `);
const tuple = (parts: SQLWrapper[]) => sql`(${joinComma(parts)})`;

/** The id of one parent, in a statement that reads a list for each id in the placeholder `$parents`. */
export const parent = sql`parent.id`;
export const parents = sql`unnest(string_to_array(${unknownValue('$parents', 'text')}, ',')::uuid[]) as parent(id)`;

/** Citus refuses a limit unknown to the planner on a table that it has spread. Such tables have no kept totals. */
export const numberIn = ({ counted }: ListRules) => (counted === undefined ? placeholder : unknownValue);

/** The columns that place a record in the order of the list. */
export const positionColumns = (rules: ListRules, reading: PageReading) => [
  ...sortedBy(rules, reading),
  rules.table.id,
];

/**
 * The columns of the sort. One that a filter compares is left out: it has the same value in all records, and would
 * make cursors longer.
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

/** The condition of the filters and the period. The period is a range of ids, because ids begin with their time. */
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
 * The condition for what matches beyond the position. In the order of ids, `$above` and `$below` hold the position.
 *
 * If an indexed filter (`prefix`) is used, its column and the id are compared as a pair, and the order names both. For
 * `column = $1 order by id`, the plan that PostgreSQL keeps for all values reads the primary key and drops what does
 * not match: 150 ms for an action that 3 of 600,000 entries have.
 */
export function inRange(rules: ListRules, reading: PageReading): SQL | undefined {
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
    // The range implies this, but PostgreSQL must read it to use an index without the nulls.
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
