import { filterOf } from '#schemas/parts/filters.ts';
import { type Criterion, indexedPart, nullsOfSort, operatorOf, search, valuesOfSort } from './criteria.ts';
import type { ListRules } from './rules.ts';

/** Which records a list has, without the values of its criteria: a statement has placeholders with their names. */
export interface Selection {
  used: Criterion[];
  hasPeriod: boolean;
  /** The filter that has a different value for each parent; undefined for one list. */
  perParent?: string | undefined;
  /** The filter in whose index rows are found and counted, or `ids`. */
  by: string;
}
/** Stand for the index of the ids, which has the period, and for that of the sort. */
export const [ids, ofSort] = ['', '$sort'];

/** How a page of a list is read. Each combination is one statement. */
export interface PageReading extends Selection {
  sort: string;
  descending: boolean;
  /**
   * A page by number skips rows. One by cursor begins at a position, or at an end of the list if the cursor is empty.
   */
  from: 'number' | 'position' | 'end';
  brief?: boolean | undefined;
  /**
   * `ordered`: from an index that has the records in the order of the list. `gathered`: all rows of `by` are filtered and
   * sorted, if there are fewer than `$most`. `walked`: the next `$most` rows in the order of the list are filtered.
   * `planned`: as PostgreSQL likes best, which knows the values.
   */
  way: 'ordered' | 'gathered' | 'walked' | 'planned';
  /** Whether PostgreSQL plans it for its values, and forgets it. */
  isRare?: boolean;
}

type Sorted = Pick<PageReading, 'sort' | 'used'>;

/**
 * The columns of the sort. One that a filter compares is left out: it has the same value in all records, and would
 * make cursors longer.
 */
export const sortedBy = ({ sorts = {}, filters }: ListRules, { sort, used }: Sorted) =>
  used.includes(nullsOfSort)
    ? []
    : (sorts[sort] ?? []).filter(column => !used.some(filter => filters[filter] === column));

export const isById = (rules: ListRules, reading: Sorted) => sortedBy(rules, reading).length === 0;

/** The columns that place a record in the order of the list. */
export const positionColumns = (rules: ListRules, reading: Sorted) => [
  ...sortedBy(rules, reading),
  rules.table.id,
];

/** What the index of a filter has; undefined if that is not a column or an expression. */
export const indexOf = ({ filters }: ListRules, filter: string) => indexedPart(filters[filter]);

/**
 * The parts of a list, one behind the other: the records with a value of the sort, then those without one. Each is the
 * list with one more criterion.
 */
export function partsOf(rules: ListRules, reading: Sorted): Criterion[][] {
  const [column] = sortedBy(rules, reading);
  if (column === undefined || !rules.nullable?.includes(reading.sort)) return [[]];
  const compared = reading.used.filter(each => indexOf(rules, filterOf(each)) === column);
  if (compared.some(each => operatorOf(each) === 'isNull')) return [[nullsOfSort]];
  return compared.length > 0 ? [[]] : [[valuesOfSort], [nullsOfSort]];
}

/** Whether the rows of several values are merged in the order of the ids. Citus refuses the join that this takes. */
export const isMerged = ({ counted }: ListRules, criteria: Criterion[]) =>
  counted !== undefined && criteria.length === 1 && criteria.every(each => operatorOf(each) === 'in');

/** Whether one index has the records in the order of the list, and no others between them. */
export function isOrdered(rules: ListRules, reading: Selection & Sorted): boolean {
  const { by, hasPeriod } = reading;
  const [column] = sortedBy(rules, reading);
  const used = reading.used.filter(each => each !== valuesOfSort);
  if (used.length === 0) return column === undefined || !hasPeriod;
  const index = indexOf(rules, by);
  if (index === undefined || used.some(each => filterOf(each) !== by)) return false;
  if (column) return index === column && !hasPeriod && !used.some(each => operatorOf(each) === 'in');
  return (
    isMerged(rules, used) || (used.length === 1 && used.every(each => /^is(Null)?$/.test(operatorOf(each))))
  );
}

/** The filters whose indexes may have few rows, the most promising first, then those of the application. */
export function candidates(
  rules: ListRules,
  { used, hasPeriod }: Pick<Selection, 'used' | 'hasPeriod'>,
): string[] {
  const { counted = [] } = rules;
  const names = [...new Set(used.filter(each => each !== valuesOfSort).map(filterOf))];
  const indexed = (rules.indexed ?? names).filter(name => names.includes(name));
  const isEqual = (name: string) => indexOf(rules, name) !== undefined && used.includes(name);
  const rank = (name: string) => {
    if (name === search) return 0;
    if (isEqual(name)) return counted.includes(name) ? 3 : 1;
    return name === ids || indexOf(rules, name) ? 2 : 4;
  };
  // The index of a filter with one value has the rows of a period, too.
  const period = hasPeriod && !indexed.some(isEqual) ? [ids] : [];
  const sorted = [...indexed, ...period].toSorted((a, b) => rank(a) - rank(b));
  return sorted.length > 0 ? sorted : [ids];
}
