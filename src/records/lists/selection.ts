import type { SQLWrapper } from '#drizzle/orm.ts';
import { type Criterion, indexedPart, makeCriterion, search } from './criteria.ts';
import type { ListRules } from './rules.ts';

/** Which records a list has, and in which order, without the values: a statement has placeholders for them. */
export interface Selection {
  rules: ListRules;
  criteria: Criterion[];
  hasPeriod: boolean;
  sort: string;
  descending: boolean;
  /** The filter that has a different value for each parent; undefined for one list. */
  perParent?: string | undefined;
  brief?: boolean | undefined;
}

/** How a page of a list is read. Each combination is one statement. */
export interface Reading extends Selection {
  /**
   * A page by number skips rows. One by cursor begins at a position, or at an end of the list if the cursor is empty.
   */
  from: 'number' | 'position' | 'end';
  /** The filter in whose index rows are found and counted, or `ids`, or `ofSort`. */
  by: string;
  /**
   * `ordered`: from an index that has the records in the order of the list. `gathered`: all rows of `by` are filtered and
   * sorted, if there are fewer than `$most`. `walked`: the next `$most` rows in the order of the list are filtered.
   * `planned`: as PostgreSQL likes best, which knows the values. `counted`: only the totals of parents are read.
   */
  way: 'ordered' | 'gathered' | 'walked' | 'planned' | 'counted';
  /** Whether PostgreSQL plans it for its values, and forgets it. */
  isRare?: boolean;
}

/** Stand for the index of the ids, which has the period, and for that of the sort. */
export const [ids, ofSort] = ['', '$sort'];
const nullsOfSort = makeCriterion(`${ofSort}[isNull]`);

/** What the index of a filter has; undefined if that is not a column or an expression. */
export function indexOf({ rules, sort }: Selection, filter: string): SQLWrapper | undefined {
  if (filter === ids) return rules.table.id;
  return filter === ofSort ? rules.sorts?.[sort]?.[0] : indexedPart(rules.filters[filter]);
}

const comparing = (selection: Selection, column: SQLWrapper) =>
  selection.criteria.filter(({ filter }) => indexOf(selection, filter) === column);

/**
 * The columns of the sort. One that has the same value in all records, because a criterion says so, is left out: it
 * would make cursors longer.
 */
const sortedBy = (selection: Selection) =>
  (selection.rules.sorts?.[selection.sort] ?? []).filter(
    column => !comparing(selection, column).some(({ operator }) => /^is(Null)?$/.test(operator)),
  );

/** The columns that place a record in the order of the list. */
export const positionColumns = (selection: Selection) => [...sortedBy(selection), selection.rules.table.id];

/** The column of the sort, if records without a value of it come behind the others. */
export function nullableSort(selection: Selection): SQLWrapper | undefined {
  const [column] = sortedBy(selection);
  const isNullable = column && selection.rules.nullable?.includes(selection.sort);
  // What compares the column selects no record without a value.
  return isNullable && comparing(selection, column).length === 0 ? column : undefined;
}

/** The parts of a list, one behind the other: the records with a value of the sort, then those without one. */
export const partsOf = (selection: Selection): Selection[] =>
  nullableSort(selection)
    ? [selection, { ...selection, criteria: [...selection.criteria, nullsOfSort] }]
    : [selection];

/** Whether the rows of several values are merged in the order of the ids. Citus refuses the join that this takes. */
export const isMerged = ({ rules, criteria: [only, ...others] }: Selection) =>
  rules.counted !== undefined && only?.operator === 'in' && others.length === 0;

/** The index that has the records in the order of the list, and no others between them. */
export function orderedIndex(selection: Selection): string | undefined {
  const { rules, criteria, hasPeriod } = selection;
  const [column] = sortedBy(selection);
  const [first, ...others] = criteria;
  if (first === undefined) return column && hasPeriod ? undefined : ids;
  const { filter: by } = first;
  const index = (rules.indexed?.includes(by) ?? true) ? indexOf(selection, by) : undefined;
  if (index === undefined || others.some(({ filter }) => filter !== by)) return undefined;
  const isOrdered = column
    ? index === column && !hasPeriod && !criteria.some(({ operator }) => operator === 'in')
    : isMerged(selection) || (others.length === 0 && /^is(Null)?$/.test(first.operator));
  return isOrdered ? by : undefined;
}

/** The filters whose indexes may have few rows, the most promising first, then those of the application. */
export function candidates(selection: Selection): string[] {
  const { rules, criteria, hasPeriod } = selection;
  const names = [...new Set(criteria.map(({ filter }) => filter))];
  const indexed = (rules.indexed ?? names).filter(name => names.includes(name));
  const isEqual = (name: string) =>
    indexOf(selection, name) !== undefined && criteria.some(each => each.name === name);
  const rank = (name: string) => {
    if (name === search) return 0;
    if (isEqual(name)) return rules.counted?.includes(name) ? 3 : 1;
    return indexOf(selection, name) ? 2 : 4;
  };
  // The index of a filter with one value has the rows of a period, too.
  const period = hasPeriod && !indexed.some(isEqual) ? [ids] : [];
  const sorted = [...indexed, ...period].toSorted((a, b) => rank(a) - rank(b));
  return sorted.length > 0 ? sorted : [ids];
}
