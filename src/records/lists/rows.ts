import {
  and,
  Column,
  getTableName,
  gt,
  gte,
  is,
  isNotNull,
  isNull,
  lt,
  lte,
  type SQL,
  type SQLWrapper,
  sql,
} from '#drizzle/orm.ts';
import { unknownValue } from '#src/database/statements/statement.ts';
import { type Criterion, comparedType, endPlaceholder } from './criteria.ts';
import {
  ids,
  indexOf,
  nullableSort,
  ofSort,
  positionColumns,
  type Reading,
  type Selection,
} from './selection.ts';

const { placeholder, raw } = sql;
export const joinComma = (parts: SQLWrapper[]) => sql.join(parts, sql`, `);
const tuple = (parts: SQLWrapper[]) => sql`(${joinComma(parts)})`;

/** The name of the table, which a subquery has that stands for it. */
export const nameOf = ({ rules }: Selection) => raw(`"${getTableName(rules.table)}"`);

/** The id of one parent, or one of several values, in a statement that reads a list for each. */
export const parent = sql`parent.id`;
export const parents = sql`unnest(string_to_array(${unknownValue('$parents', 'text')}, ',')::uuid[]) as parent(id)`;

/** Citus refuses a limit unknown to the planner on a table that it has spread. Such tables have no kept totals. */
export const numberIn = ({ rules }: Selection) => (rules.counted === undefined ? placeholder : unknownValue);

const operators: Record<string, (column: SQLWrapper, value: SQLWrapper, end: SQLWrapper) => SQL> = {
  ...{ gt, gte, lt, lte, isNull, isNotNull },
  is: (column, value) => sql`${column} = ${value}`,
  in: (column, value) => sql`${column} = any(${value})`,
  startsWith: (column, value, end) => sql`${column} >= ${value} and ${column} < ${end}`,
};

/** The value of a criterion in a statement. */
export function valueIn(selection: Selection, { name, filter, operator }: Criterion): SQLWrapper {
  if (name === selection.perParent) return parent;
  const compared = selection.rules.filters[filter];
  const value = placeholder(name);
  if (operator === 'is') return compared && 'of' in compared ? compared.of(value) : value;
  const type = comparedType(indexOf(selection, filter));
  return sql`${value}::${raw(operator === 'in' ? `text::${type}[]` : type)}`;
}

/** The condition of these criteria. */
export const matching = (selection: Selection, criteria: Criterion[]): SQL | undefined =>
  and(
    ...criteria.map(criterion => {
      const { name, filter, operator } = criterion;
      const compared = selection.rules.filters[filter];
      if (compared && 'where' in compared) return compared.where(placeholder(name));
      const column = indexOf(selection, filter) as SQLWrapper;
      const make = operators[operator] as (typeof operators)[string];
      return make(column, valueIn(selection, criterion), placeholder(endPlaceholder(criterion)));
    }),
  );

/** The criterion with one value, for which the index of `by` has the rows in the order of their ids. */
function onlyValue(reading: Reading): Criterion | undefined {
  const [only, ...others] = reading.criteria.filter(({ filter }) => filter === reading.by);
  return only?.operator === 'is' && others.length === 0 && indexOf(reading, only.filter) ? only : undefined;
}

/** The condition of the rows in the index of `by`. */
function inIndex(reading: Reading): SQL | undefined {
  const { rules, criteria, by } = reading;
  if (by === ids) return rangeOfIds(reading);
  if (by === ofSort && positionColumns(reading).length > 1) return placeInSort(reading);
  const own = criteria.filter(({ filter }) => filter === by);
  const one = onlyValue(reading);
  if (one === undefined) return matching(reading, own);
  const [index, { id }] = [indexOf(reading, by) as SQLWrapper, rules.table];
  const bound = (name: string) => tuple([valueIn(reading, one), placeholder(name)]);
  // The range implies that it is not null, but PostgreSQL must read it to use an index without the nulls.
  return and(
    sql`${tuple([index, id])} > ${bound('$above')} and ${tuple([index, id])} < ${bound('$below')}`,
    isNotNull(index),
  );
}

/** The condition of the other rows: which of those in the index of `by` the page has. */
export function choosing(reading: Reading): SQL | undefined {
  const { by, criteria } = reading;
  const others = criteria.filter(({ filter }) => filter !== by);
  const hasIds = by === ids || onlyValue(reading) !== undefined;
  const place = by === ofSort ? undefined : placeInSort(reading);
  return and(place, matching(reading, others), hasIds ? undefined : placeInIds(reading));
}

/** The period, or the position of a page in the order of ids: a range, because ids begin with their time. */
const rangeOfIds = ({ rules }: Selection) =>
  sql`${rules.table.id} > ${placeholder('$above')} and ${rules.table.id} < ${placeholder('$below')}`;

function placeInIds(reading: Reading): SQL | undefined {
  const { rules, hasPeriod, from, descending } = reading;
  if (hasPeriod) return rangeOfIds(reading);
  if (from === 'number' || positionColumns(reading).length > 1) return undefined;
  // Without the other bound: PostgreSQL expects few ids between two unknown ones, and would read them all.
  return sql`${rules.table.id} ${raw(descending ? '<' : '>')} ${placeholder(descending ? '$below' : '$above')}`;
}

/** The condition of the rows beyond the position, in the part of the list that has values of the sort. */
function placeInSort(reading: Reading): SQL | undefined {
  const { from, descending } = reading;
  const position = positionColumns(reading);
  if (from === 'number' || position.length === 1) return undefined;
  const column = nullableSort(reading);
  const hasValue = column && isNotNull(column);
  if (from === 'end') return hasValue;
  const values = position.map((part, index) => {
    const value = placeholder(`${index}`);
    return is(part, Column) ? sql`${value}::text::${raw(part.getSQLType())}` : value;
  });
  return and(hasValue, sql`${tuple(position)} ${raw(descending ? '<' : '>')} ${tuple(values)}`);
}

/**
 * The rows of `by` that meet another condition, in the order of its index: this order makes PostgreSQL use the index,
 * whatever the values are.
 *
 * The column and the id are compared as a pair, and the order names both. For `column = $1 order by id`, the plan that
 * PostgreSQL keeps for all values reads the primary key and drops what does not match: 150 ms for an action that 3 of
 * 600,000 entries have.
 */
export function rowsBy(reading: Reading, condition?: SQL): SQL {
  const { table } = reading.rules;
  const index = indexOf(reading, reading.by);
  const direction = raw(reading.descending ? 'desc' : 'asc');
  const order = index && joinComma([...new Set([index, table.id])].map(each => sql`${each} ${direction}`));
  // PostgreSQL finds the words of a search, and what a filter of the application selects, without an order.
  return sql`from ${table} where ${and(inIndex(reading), condition) ?? sql`true`} ${order && sql`order by ${order}`}`;
}
