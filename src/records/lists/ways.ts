import { search } from './criteria.ts';
import { costlyAbove, rowsPerPoint } from './prices.ts';
import { candidates, ids, indexOf, orderedIndex, type Reading, type Selection } from './selection.ts';
import { isKept } from './totals.ts';

const searches = ({ criteria }: Selection) => criteria.some(({ filter }) => filter === search);

/**
 * The ways to read a page by number, one after the other until one counts fewer rows than it may. Beyond what is
 * costly, PostgreSQL decides; only of a search it knows too little.
 */
export function waysByNumber(selection: Selection, most: number): Reading[] {
  const page = { ...selection, from: 'number' as const };
  const ordered = orderedIndex(selection);
  if (ordered !== undefined) return [{ ...page, by: ordered, way: 'ordered' }];
  const indexes = candidates(selection);
  const isCostly = most > (costlyAbove + 1) * rowsPerPoint;
  if (isKept(selection) || (isCostly && !searches(selection)))
    return [{ ...page, by: indexes[0] ?? ids, way: 'planned' }];
  return (isCostly ? [search] : indexes).map(by => ({ ...page, by, way: 'gathered' }));
}

/** Rows that are read among other requests. */
export const fewRows = 1000;
const all = Number.MAX_SAFE_INTEGER;

/**
 * The ways to read a page by cursor, one after the other until one is enough: each index, and the order of the list,
 * for more and more rows. So a page costs at most a few times what the best way costs, whatever the data are.
 */
export function* waysByCursor(
  selection: Selection,
  from: 'position' | 'end',
): Generator<{ way: Reading; $most: number }> {
  const page = { ...selection, from };
  const ordered = orderedIndex(selection);
  if (ordered !== undefined) return yield { way: { ...page, by: ordered, way: 'ordered' }, $most: all };
  const indexes = candidates(selection).filter(by => by === search || indexOf(selection, by));
  // The index of a search reads all that it finds, however few rows are asked for.
  const steps = searches(selection) ? [fewRows, all] : [fewRows, 10 * fewRows, 100 * fewRows, all];
  for (const $most of steps) {
    for (const by of indexes) yield { way: { ...page, by, way: 'gathered' }, $most };
    yield { way: { ...page, by: ids, way: 'walked' }, $most };
  }
}
