import { Column, is, type SQLWrapper } from '#drizzle/orm.ts';
import type { Context } from '#src/access/context.ts';
import { keptIn, setBounded } from '#src/core/kept.ts';
import type { Connection } from '#src/database/connection.ts';
import { type Asked, ask, nameOfList, positionIn, refuseForged } from './asked.ts';
import { type CursorPosition, makeCursor } from './cursors.ts';
import type { CursorPage, ListPage, Slice } from './pages.ts';
import { readAndCharge, readOnConnectionFor, rowsPerPoint } from './prices.ts';
import {
  type Criteria,
  type Cursors,
  type ListQuery,
  type ListRules,
  namesIn,
  wrongParameter,
} from './rules.ts';
import { indexOf, partsOf, positionColumns, type Reading, type Selection } from './selection.ts';
import { hasStart, type RowReader, type Run, readPage, rowReader } from './statements.ts';
import { isSearch, stepsTo } from './ways.ts';

/** The ids of parents that have a list each, and the filter that selects the list of one id. */
export interface Parents<Filter extends string = string> {
  filter: Filter;
  ids: string[];
}

/** The most statements of a list that are prepared, which PostgreSQL keeps on each connection, and of the others. */
const [mostPrepared, mostRare] = [200, 1000];

/**
 * A list of records of type T, read as one list or as a list for each of many parents. A page by number comes with the
 * total. A page by cursor costs the same at any depth, because nothing is counted or skipped: it begins at a position
 * in an index.
 */
export class PagedList<T, Filter extends string, Sort extends string> {
  readonly #rules: ListRules;
  readonly #prepared = new Map<string, Run>();
  readonly #rare = new Map<string, Run>();
  readonly #readers = new Map<string, RowReader>();

  constructor(rules: ListRules<Filter, Sort>) {
    this.#rules = rules as object as ListRules;
    for (const [name, columns] of Object.entries<SQLWrapper[]>(rules.sorts ?? {}))
      if (columns.some(column => is(column, Column) && !column.notNull) && !rules.nullable?.includes(name))
        throw new Error(`"${name}" may be null: a list that is sorted by it names it in "nullable".`);
  }

  /** A page by cursor if the query has one, else by number. */
  async page(context: Context, query: ListQuery<Filter, Sort>): Promise<ListPage<T> | CursorPage<T>> {
    const [cursor] = namesIn(['after', 'before'], query as Cursors);
    if (cursor === undefined) return this.byNumber(context, query);
    if (query.page !== undefined) throw wrongParameter('page', `cannot be combined with "${cursor}"`);
    return this.byCursor(context, query);
  }

  async byNumber(context: Context, query: ListQuery<Filter, Sort>): Promise<ListPage<T>> {
    const { selection, values } = ask(context, this.#rules, query);
    const { rows, total } = await this.#readPage(context, selection, 'number', values);
    const data = rows.map(this.#readerOf(selection).toRecord) as T[];
    const { page = 1, limit } = query;
    const meta = { page, limit, total, totalPages: Math.ceil(total / limit) };
    return { data, meta, hasNext: page * limit < total };
  }

  async byCursor(context: Context, query: ListQuery<Filter, Sort>): Promise<CursorPage<T>> {
    const asked = ask(context, this.#rules, query);
    const { selection, isBackward } = asked;
    const reader = this.#readerOf(selection);
    const start = positionIn(asked);
    const rows = await this.#readFrom(context, asked, isBackward, start, query.limit + 1).catch(error =>
      refuseForged(asked, error),
    );
    // The page behind an empty one is the last page of the list, or the first one for `before`.
    const first = reader.positionOf(rows[0]);
    const behind = start.length > 0 ? await this.#readFrom(context, asked, !isBackward, first, 1) : [];
    const slice = this.#sliceOf(asked, reader, rows, behind.length > 0, () => nameOfList(asked));
    const next = slice.hasNext ? slice.cursorAt(-1) : null;
    const previous = slice.hasPrevious ? slice.cursorAt(0) : null;
    return { ...slice, meta: { limit: query.limit, next, previous } };
  }

  /** Reads a page of each parent, by number or at an end of its list, in one statement, with at most `most` records. */
  async ofEach(
    context: Context,
    { filter, ids }: Parents<Filter>,
    query: ListQuery<Filter, Sort>,
    most: number,
  ): Promise<Map<string, Slice<T>>> {
    const asked = ask(context, this.#rules, { ...query, [filter]: '' }, filter);
    const { selection, values, isBackward } = asked;
    const $skip = Number(values.$skip);
    const [only = '', ...otherIds] = ids;
    // The list of one parent is read as any other, by whichever of its criteria has few rows.
    if (otherIds.length === 0 && $skip === 0 && selection.criteria.length > 1)
      return new Map([[only, await this.byCursor(context, { ...query, [filter]: only })]]);
    // Counting the lists pays for the rows that the pages pass, because it counts at least as many.
    const totals =
      $skip * ids.length >= rowsPerPoint ? await this.totalOfEach(context, { filter, ids }, query) : [];
    const passed = [...totals].reduce((sum, [, total]) => sum + Math.min(total, $skip), 0);
    const descending = selection.descending !== isBackward;
    // Making words is so slow that PostgreSQL would search the whole index for each parent.
    const way = isSearch(selection) ? 'gathered' : 'ordered';
    const run = this.#run({ ...selection, descending, from: 'number', by: filter, way });
    const limits = { limit: query.limit + 1, $most: most + ids.length, $parents: ids.join() };
    const slow = way === 'gathered' ? Number.POSITIVE_INFINITY : passed;
    const rows = await readOnConnectionFor(context, slow, db => run(db, { ...values, ...limits }));
    const reader = this.#readerOf(selection);
    const byParent = Map.groupBy(rows, reader.parentOf);
    const cutRange = (id: string) => {
      const name = () => nameOfList(ask(context, this.#rules, { ...query, [filter]: id }));
      return this.#sliceOf(asked, reader, byParent.get(id) ?? [], false, name);
    };
    return new Map(ids.map(id => [id, cutRange(id)]));
  }

  /** Reads the total of each parent in one statement. */
  async totalOfEach(
    context: Context,
    { filter, ids }: Parents<Filter>,
    criteria: Criteria<Filter>,
  ): Promise<Map<string, number>> {
    const one = { ...criteria, [filter]: '', limit: 1 };
    const { selection, values } = ask(context, this.#rules, one, filter);
    const [only = '', ...otherIds] = ids;
    if (otherIds.length === 0 && selection.criteria.length > 1) {
      const { meta } = await this.byNumber(context, { ...criteria, [filter]: only, limit: 1 });
      return new Map([[only, meta.total]]);
    }
    // The order does not matter, and would make more statements.
    const unordered = { ...selection, sort: '', descending: false, brief: false };
    const run = this.#run({ ...unordered, from: 'number', by: filter, way: 'counted' });
    const rows = await readAndCharge(
      context,
      (db, $most) => run(db, { ...values, $most, $parents: ids.join() }),
      rows => rows.reduce((sum, [, , passed]) => sum + Number(passed), 0),
      isSearch(selection),
    );
    const found = new Map(rows.map(([id, total]) => [id, Number(total)]));
    return new Map(ids.map(id => [id, found.get(id) ?? 0]));
  }

  /** Reads the rows beyond a position, one part of the list after the other. */
  async #readFrom(
    context: Context,
    { selection, values }: Asked,
    isBackward: boolean,
    position: CursorPosition,
    limit: number,
  ): Promise<unknown[][]> {
    const descending = selection.descending !== isBackward;
    const parts = partsOf({ ...selection, descending });
    if (isBackward) parts.reverse();
    // A position has as many values as the part in which it is.
    while (position.length > 0 && positionColumns(parts[0] as Selection).length !== position.length)
      parts.shift();
    const rows: unknown[][] = [];
    for (const [i, part] of parts.entries()) {
      const limited = { ...values, limit: limit - rows.length };
      rows.push(...(await this.#readPart(context, part, limited, i === 0 ? position : [])));
      if (rows.length >= limit) break;
    }
    return rows;
  }

  async #readPart(
    context: Context,
    selection: Selection,
    values: Asked['values'],
    position: CursorPosition,
  ): Promise<unknown[][]> {
    const { descending } = selection;
    const placed =
      position.length === 1 ? { [descending ? '$below' : '$above']: position[0] } : { ...position };
    const from = position.length > 1 ? 'position' : 'end';
    return (await this.#readPage(context, selection, from, { ...values, ...placed })).rows;
  }

  /** Reads a page in the first way that is enough, with the total if the page has a number, and charges for it. */
  #readPage(context: Context, selection: Selection, from: Reading['from'], values: Asked['values']) {
    const read = async (db: Connection, most: number) => {
      for (const { ways, $most } of stepsTo(selection, from, most)) {
        let passed = 0;
        for (const reading of ways) {
          const { way } = reading;
          const rows = await this.#run(reading)(db, { ...values, $most });
          const hasCount = hasStart(reading);
          const start = hasCount ? rows.shift() : undefined;
          const [total = 0, counted = 0] = start?.slice(-2).map(Number) ?? [];
          const isEnough = hasCount ? counted < $most : rows.length >= Number(values.limit);
          passed += hasCount ? counted : way === 'ordered' ? 0 : $most;
          if (isEnough || way === 'ordered') return { rows, total, passed };
        }
      }
      return { rows: [], total: 0, passed: most };
    };
    // A search, and a filter of the application, may read many rows to find few.
    const isSlow = selection.criteria.some(({ filter }) => indexOf(selection, filter) === undefined);
    return readAndCharge(context, read, ({ passed }) => passed, isSlow);
  }

  /** The page of these rows. One row more than the limit shows that there are more. */
  #sliceOf(
    { query, isBackward }: Asked,
    { toRecord, positionOf }: RowReader,
    rows: unknown[][],
    hasBehind: boolean,
    listName: () => string,
  ): Slice<T> {
    const page = rows.slice(0, query.limit);
    if (isBackward) page.reverse();
    const hasAhead = rows.length > query.limit;
    const [hasNext, hasPrevious] = isBackward ? [hasBehind, hasAhead] : [hasAhead, hasBehind];
    const cursorAt = (index: number) => makeCursor(listName(), positionOf(page.at(index)));
    return { data: page.map(toRecord) as T[], hasNext, hasPrevious, cursorAt };
  }

  /** How rows are read, which is the same for every page of a list. */
  #readerOf(selection: Selection): RowReader {
    const { sort, perParent, brief } = selection;
    const key = `${sort} ${perParent} ${brief} ${positionColumns(selection).length}`;
    return keptIn(this.#readers, key, () => rowReader(selection));
  }

  /**
   * A statement, kept as text. Only those with at most one criterion are prepared, and not above a maximum: clients can
   * ask for any number of combinations.
   */
  #run(reading: Reading): Run {
    const key = JSON.stringify({ ...reading, rules: undefined });
    const known = this.#prepared.get(key) ?? this.#rare.get(key);
    if (known !== undefined) return known;
    const { criteria, perParent, way } = reading;
    const chosen = criteria.filter(({ name }) => !name.startsWith('$') && name !== perParent);
    const isRare = chosen.length > 1 || way === 'planned' || this.#prepared.size >= mostPrepared;
    const run = readPage({ ...reading, isRare });
    if (isRare) setBounded(this.#rare, key, run, mostRare);
    else this.#prepared.set(key, run);
    return run;
  }
}
