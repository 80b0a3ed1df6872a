import { Column, is, type SQLWrapper } from '#drizzle/orm.ts';
import { filterOf } from '#schemas/parts/filters.ts';
import { readBound, readInstant } from '#src/core/instants.ts';
import { arrayText } from '#src/database/statements/insertRows.ts';
import type { Compared, ListRules } from './rules.ts';

/** Selects records by a filter. It has the name of its parameter, such as `status[in]`, and so has its placeholder. */
export interface Criterion {
  name: string;
  filter: string;
  /** That of the parameter, `is` for the plain name, or `isNotNull` for `[isNull]=false`. */
  operator: string;
}

export function makeCriterion(name: string): Criterion {
  const filter = filterOf(name);
  return { name, filter, operator: name.slice(filter.length + 1, -1) || 'is' };
}

/** The filter that searches. */
export const search = 'q';

/** The placeholder of a text above all that begin with another. */
export const endPlaceholder = ({ name }: Criterion) => `${name} end`;

/** What the index of a filter has; undefined if that is not a column or an expression. */
export const indexedPart = (filter: Compared | undefined): SQLWrapper | undefined =>
  is(filter, Column) ? filter : filter && 'indexed' in filter ? filter.indexed : undefined;

/** The type that a column is compared with: a bound may be beyond the whole numbers that the column holds. */
export const comparedType = (column: SQLWrapper | undefined) =>
  is(column, Column)
    ? column.getSQLType().replace(/ collate .*|^integer$/, part => (part === 'integer' ? 'bigint' : ''))
    : 'text';

/** The criteria of a query, always in the same order, and their values as a statement and a cursor have them. */
export function readCriteria({ filters }: ListRules, query: Record<string, unknown>) {
  const values: Record<string, unknown> = {};
  const criteria = Object.keys(query)
    .filter(name => query[name] !== undefined && Object.hasOwn(filters, filterOf(name)))
    .toSorted()
    .map(name => {
      const criterion = makeCriterion(name);
      const { filter, operator } = criterion;
      const value = query[name];
      if (operator === 'isNull') return value ? criterion : makeCriterion(`${filter}[isNotNull]`);
      values[name] = operator === 'is' ? value : readValue(indexedPart(filters[filter]), operator, value);
      if (operator !== 'startsWith') return criterion;
      const end = endOfPrefix(String(value));
      // Nothing is above a text of the last character alone.
      if (end === undefined) return { ...criterion, operator: 'gte' };
      values[endPlaceholder(criterion)] = end;
      return criterion;
    });
  return { criteria, values };
}

/** Rounds a bound to the milliseconds of a column, so that it selects what it would select without rounding. */
function readValue(column: SQLWrapper | undefined, operator: string, value: unknown): unknown {
  if (operator === 'in') return arrayText([...new Set(value as string[])].toSorted());
  if (!comparedType(column).startsWith('timestamp')) return value;
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
