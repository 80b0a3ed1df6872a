import { search } from './criteria.ts';
import { costlyAbove, rowsPerPoint } from './prices.ts';
import type { ListRules } from './rules.ts';
import { candidates, ids, indexOf, isOrdered, type PageReading } from './selection.ts';
import { isKept } from './statements.ts';

/** A page to read, before it is known how. */
type Page = Omit<PageReading, 'by' | 'way'>;

/**
 * The ways to read a page by number, one after the other until one counts fewer rows than it may. Beyond what is
 * costly, PostgreSQL decides; only of a search it knows too little.
 */
export function waysByNumber(rules: ListRules, page: Page, most: number): PageReading[] {
  const indexes = candidates(rules, page);
  const [by = ids] = indexes;
  if (isOrdered(rules, { ...page, by })) return [{ ...page, by, way: 'ordered' }];
  const isCostly = most > (costlyAbove + 1) * rowsPerPoint;
  const isSearch = page.used.includes(search);
  if (isKept(rules, page) || (isCostly && !isSearch)) return [{ ...page, by, way: 'planned' }];
  return (isCostly ? [search] : indexes).map(by => ({ ...page, by, way: 'gathered' }));
}

/** Rows that are read among other requests. */
export const fewRows = 1000;
const all = Number.MAX_SAFE_INTEGER;

/**
 * The ways to read a page by cursor, one after the other until one is enough: each index, and the order of the list,
 * for more and more rows. So a page costs at most a few times what the best way costs, whatever the data are.
 */
export function* waysByCursor(rules: ListRules, page: Page): Generator<{ way: PageReading; $most: number }> {
  const indexes = candidates(rules, page);
  const [by = ids] = indexes;
  if (isOrdered(rules, { ...page, by })) return yield { way: { ...page, by, way: 'ordered' }, $most: all };
  const isOwn = (by: string) => by !== ids && by !== search && indexOf(rules, by) === undefined;
  // The index of a search reads all that it finds, however few rows are asked for.
  const steps = page.used.includes(search) ? [fewRows, all] : [fewRows, 10 * fewRows, 100 * fewRows, all];
  for (const $most of steps) {
    for (const by of indexes.filter(by => !isOwn(by))) yield { way: { ...page, by, way: 'gathered' }, $most };
    yield { way: { ...page, by: ids, way: 'walked' }, $most };
  }
}
