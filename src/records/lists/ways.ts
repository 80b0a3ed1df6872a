import { search } from './criteria.ts';
import { costlyAbove, rowsPerPoint } from './prices.ts';
import type { ListRules } from './rules.ts';
import { candidates, ids, indexOf, isOrdered, type PageReading } from './selection.ts';
import { isKept } from './statements.ts';

/** A page to read, before it is known how. */
export type Page = Omit<PageReading, 'by' | 'way'>;

const few = 1000;
const free = rowsPerPoint;
const notCostly = (costlyAbove + 1) * rowsPerPoint;

/**
 * The ways to read a page from at most so many rows, one after the other until one is enough: each index that may have
 * few rows, and the order of the list, for more and more rows. So a page costs at most a few times what its best way
 * costs, whatever the data are. If the total is costly, PostgreSQL decides how to read the page.
 */
export function* waysOf(
  rules: ListRules,
  page: Page,
  most: number,
): Generator<{ ways: PageReading[]; $most: number }> {
  const indexes = candidates(rules, page);
  const [by = ids] = indexes;
  const hasTotal = page.from === 'number';
  const isSearch = page.used.includes(search);
  const only = (way: PageReading['way']) => ({ ways: [{ ...page, by, way }], $most: most });
  if (isOrdered(rules, { ...page, by })) return yield only('ordered');
  if (hasTotal && (isKept(rules, page) || (most > notCostly && !isSearch))) return yield only('planned');
  const isOwn = (by: string) => by !== ids && by !== search && indexOf(rules, by) === undefined;
  // A budget asks again for each number of rows above those that are free.
  const isNext = most > free && most < Number.MAX_SAFE_INTEGER;
  for (const step of isNext ? [most] : [few, free, notCostly, most].filter(step => step <= most)) {
    // A search reads its whole index. Making the words of a row takes ten times as long as reading it.
    const usable = indexes.filter(each =>
      isSearch ? (each === search) === step > few : hasTotal || !isOwn(each),
    );
    const gathered = usable.length === 0 && step > notCostly ? [ids] : usable;
    const ways: PageReading[] = gathered.map(by => ({ ...page, by, way: 'gathered' }));
    if (!hasTotal && (isSearch ? step === free : step <= notCostly))
      ways.push({ ...page, by: ids, way: 'walked' });
    yield { ways, $most: Math.floor(step / ways.length) };
  }
}
