import {
  Column,
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
import { filterOf } from '#schemas/parts/filters.ts';
import { readBound, readInstant } from '#src/core/instants.ts';
import { arrayText } from '#src/database/statements/insertRows.ts';
import type { Compared, ListRules } from './rules.ts';

/**
 * A criterion selects records by a filter. It has the name of its parameter: `status`, `status[in]`, `q`. The values of
 * `[isNull]` are two criteria: `[isNull]` and `[isNotNull]`. The filter `$sort` is the column of the sort.
 */
export type Criterion = string;
export const [nullsOfSort, valuesOfSort] = ['$sort[isNull]', '$sort[isNotNull]'];
export const search = 'q';

function split(criterion: Criterion) {
  const [, name = '', operator = 'is'] = /^([^[]*)(?:\[(\w+)\])?$/.exec(criterion) ?? [];
  return { name, operator };
}
export const operatorOf = (criterion: Criterion) => split(criterion).operator;

const { placeholder, raw } = sql;
/** The placeholder of a text above all that begin with another. */
const endOf = (criterion: Criterion) => `${criterion} end`;

const operators: Record<string, (column: SQLWrapper, value: SQLWrapper, end: SQLWrapper) => SQL> = {
  ...{ gt, gte, lt, lte, isNull, isNotNull },
  is: (column, value) => sql`${column} = ${value}`,
  in: (column, value) => sql`${column} = any(${value})`,
  startsWith: (column, value, end) => sql`${column} >= ${value} and ${column} < ${end}`,
};

/** What the index of a filter has. */
export const indexedPart = (filter: Compared | undefined): SQLWrapper | undefined =>
  is(filter, Column) ? filter : filter && 'indexed' in filter ? filter.indexed : undefined;

/** The type that a column is compared with: a bound may be beyond the whole numbers that the column holds. */
const typeOf = (column: SQLWrapper | undefined) =>
  is(column, Column)
    ? column.getSQLType().replace(/ collate .*|^integer$/, part => (part === 'integer' ? 'bigint' : ''))
    : 'text';

/** The value of a criterion in a statement. */
export function valueIn(rules: ListRules, criterion: Criterion): SQLWrapper {
  const { name, operator } = split(criterion);
  const filter = rules.filters[name];
  const value = placeholder(criterion);
  if (operator === 'is') return filter && 'of' in filter ? filter.of(value) : value;
  const type = typeOf(indexedPart(filter));
  return sql`${value}::${raw(operator === 'in' ? `text::${type}[]` : type)}`;
}

/** The condition of a criterion, given its value if that is not a parameter of the statement. */
export function conditionOf(rules: ListRules, criterion: Criterion, value?: SQLWrapper): SQL {
  const { name, operator } = split(criterion);
  const filter = rules.filters[name] as Compared;
  if ('where' in filter) return filter.where(placeholder(criterion));
  const make = operators[operator] as (typeof operators)[string];
  return make(
    indexedPart(filter) as SQLWrapper,
    value ?? valueIn(rules, criterion),
    placeholder(endOf(criterion)),
  );
}

/** The criteria of a query, always in the same order, and their values as a statement and a cursor have them. */
export function readCriteria({ filters }: Pick<ListRules, 'filters'>, query: Record<string, unknown>) {
  const values: Record<string, unknown> = {};
  const used = Object.keys(query)
    .filter(name => query[name] !== undefined && Object.hasOwn(filters, filterOf(name)))
    .toSorted()
    .map(criterion => {
      const { name, operator } = split(criterion);
      const value = query[criterion];
      if (operator === 'isNull') return value ? criterion : `${name}[isNotNull]`;
      const end = operator === 'startsWith' ? endOfPrefix(String(value)) : '';
      // Nothing is above a text of the last character alone.
      if (end === undefined) criterion = `${name}[gte]`;
      if (end) values[endOf(criterion)] = end;
      values[criterion] = readValue(typeOf(indexedPart(filters[name])), operator, value);
      return criterion;
    });
  return { used, values };
}

/** Rounds a bound to the milliseconds of a column, so that it selects what it would select without rounding. */
function readValue(type: string, operator: string, value: unknown): unknown {
  if (operator === 'in') return arrayText([...new Set(value as string[])].toSorted());
  if (operator === 'is' || !type.startsWith('timestamp')) return value;
  const bound = operator === 'gte' || operator === 'lt' ? readBound(String(value))?.toISOString() : undefined;
  // Rounding up may lead to the year 10000, which `Date` writes with a sign.
  return (bound ?? readInstant(String(value)))?.replace(/^\+0/, '');
}

/** The least text above all that begin with this one, by code points. */
function endOfPrefix(prefix: string): string | undefined {
  const points = Array.from(prefix, character => character.codePointAt(0) as number);
  const last = points.findLastIndex(point => point < 0x10ffff);
  if (last < 0) return undefined;
  // The code points of surrogates are no characters.
  const next = points[last] === 0xd7ff ? 0xe000 : (points[last] as number) + 1;
  return String.fromCodePoint(...points.slice(0, last), next);
}
