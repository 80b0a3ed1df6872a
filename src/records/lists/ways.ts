import { search } from './criteria.ts';
import { costlyAbove, rowsPerPoint } from './prices.ts';
import { candidates, ids, indexOf, orderedIndex, type Reading, type Selection } from './selection.ts';
import { isKept } from './totals.ts';

export const isSearch = ({ criteria }: Selection) => criteria.some(({ filter }) => filter === search);

const [few, free, notCostly] = [1000, rowsPerPoint, (costlyAbove + 1) * rowsPerPoint];

/** Ways to read a page, one after the other until one is enough, each from at most so many rows. */
interface Step {
  ways: Reading[];
  $most: number;
}

/**
 * The steps to a page from at most so many rows: each index that may have few of them, and the order of the list, for
 * more and more rows. So a page costs at most a few times what its best way costs, whatever the data are. If the total
 * is costly, PostgreSQL decides how to read the page.
 */
export function* stepsTo(selection: Selection, from: Reading['from'], most: number): Generator<Step> {
  const wayBy = (by: string, way: Reading['way']): Reading => ({ ...selection, from, by, way });
  const ordered = orderedIndex(selection);
  if (ordered !== undefined) return yield { ways: [wayBy(ordered, 'ordered')], $most: most };
  const hasTotal = from === 'number';
  const searches = isSearch(selection);
  const indexes = candidates(selection);
  if (hasTotal && (isKept(selection) || (most > notCostly && !searches)))
    return yield { ways: [wayBy(indexes[0] ?? ids, 'planned')], $most: most };
  // A budget asks again for each number of rows above those that are free.
  const isNext = most > free && most < Number.MAX_SAFE_INTEGER;
  for (const step of isNext ? [most] : [few, free, notCostly, most].filter(step => step <= most)) {
    const usable = indexes.filter(by => {
      // A search reads its whole index. Making the words of a row takes ten times as long as reading it.
      if (searches) return (by === search) === step > few;
      return hasTotal || by === ids || indexOf(selection, by) !== undefined;
    });
    const gathered = usable.length === 0 && step > notCostly ? [ids] : usable;
    const ways = gathered.map(by => wayBy(by, 'gathered'));
    if (!hasTotal && (searches ? step === free : step <= notCostly)) ways.push(wayBy(ids, 'walked'));
    yield { ways, $most: Math.floor(step / ways.length) };
  }
}
