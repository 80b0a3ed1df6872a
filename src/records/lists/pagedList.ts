import { Column, is, type SQLWrapper } from '#drizzle/orm.ts';
import type { Context } from '#src/access/context.ts';
import { setBounded } from '#src/core/kept.ts';
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
import { partsOf, positionColumns, type Reading, type Selection } from './selection.ts';
import { type RowReader, type Run, readPage, rowReader } from './statements.ts';
import { fewRows, waysByCursor, waysByNumber } from './ways.ts';

/** The ids of parents that have a list each, and the filter that selects the list of one id. */
export interface Parents<Filter extends string = string> {
  filter: Filter;
  ids: string[];
}

/** How many rows were counted for a page, which each of its rows repeats. */
const passedIn = ([first]: unknown[][]) => Number(first?.at(-1));
const isRecord = ([first]: unknown[]) => first !== null;
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
    const read = async (db: Connection, $most: number) => {
      let rows: unknown[][] = [];
      for (const reading of waysByNumber(selection, $most)) {
        rows = await this.#run(reading)(db, { ...values, $most });
        if (passedIn(rows) < $most) break;
      }
      return rows;
    };
    const rows = await readAndCharge(context, read, passedIn);
    const data = rows.filter(isRecord).map(rowReader(selection).toRecord) as T[];
    const { page = 1, limit } = query;
    const total = Number(rows[0]?.at(-2));
    const meta = { page, limit, total, totalPages: Math.ceil(total / limit) };
    return { data, meta, hasNext: page * limit < total };
  }

  async byCursor(context: Context, query: ListQuery<Filter, Sort>): Promise<CursorPage<T>> {
    const asked = ask(context, this.#rules, query);
    const { selection, isBackward } = asked;
    const reader = rowReader(selection);
    const start = positionIn(asked);
    const rows = await this.#readFrom(context, asked, isBackward, start, query.limit + 1).catch(error =>
      refuseForged(asked, error),
    );
    // The page behind an empty one is the last page of the list, or the first one for `before`.
    const first = reader.positionOf(rows[0]);
    const behind = start.length > 0 ? await this.#readFrom(context, asked, !isBackward, first, 1) : [];
    const slice = this.#sliceOf(asked, reader, rows, behind.length > 0);
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
    const { selection, values, isBackward } = ask(context, this.#rules, { ...query, [filter]: '' }, filter);
    const $skip = Number(values.$skip);
    // Counting the lists pays for the rows that the pages pass, because it counts at least as many.
    const totals =
      $skip * ids.length >= rowsPerPoint ? await this.totalOfEach(context, { filter, ids }, query) : [];
    const passed = [...totals].reduce((sum, [, total]) => sum + Math.min(total, $skip), 0);
    const descending = selection.descending !== isBackward;
    const run = this.#run({ ...selection, descending, from: 'number', by: filter, way: 'ordered' });
    const limits = { limit: query.limit + 1, $most: most + ids.length, $parents: ids.join() };
    const rows = await readOnConnectionFor(context, passed, db => run(db, { ...values, ...limits }));
    const reader = rowReader(selection);
    const byParent = Map.groupBy(rows, reader.parentOf);
    const cutRange = (id: string) =>
      this.#sliceOf(
        ask(context, this.#rules, { ...query, [filter]: id }),
        reader,
        byParent.get(id) ?? [],
        false,
      );
    return new Map(ids.map(id => [id, cutRange(id)]));
  }

  /** Reads the total of each parent in one statement. */
  async totalOfEach(
    context: Context,
    { filter, ids }: Parents<Filter>,
    criteria: Criteria<Filter>,
  ): Promise<Map<string, number>> {
    const { selection, values } = ask(context, this.#rules, { ...criteria, [filter]: '', limit: 1 }, filter);
    const run = this.#run({ ...selection, from: 'number', by: filter, way: 'counted' });
    const rows = await readAndCharge(
      context,
      (db, $most) => run(db, { ...values, $most, $parents: ids.join() }),
      rows => rows.reduce((sum, [, , passed]) => sum + Number(passed), 0),
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
    for (const { way, $most } of waysByCursor(selection, position.length > 1 ? 'position' : 'end')) {
      const read = (db: Connection) => this.#run(way)(db, { ...values, ...placed, $most });
      // Other reads do not wait for the connection of what may take long.
      const passed = way.way === 'ordered' || $most === fewRows ? 0 : Number.POSITIVE_INFINITY;
      const rows = await readOnConnectionFor(context, passed, read);
      const isEnough = way.way === 'gathered' ? passedIn(rows) < $most : rows.length >= Number(values.limit);
      if (isEnough || $most === Number.MAX_SAFE_INTEGER) return rows.filter(isRecord);
    }
    return [];
  }

  /** The page of these rows. One row more than the limit shows that there are more. */
  #sliceOf(
    asked: Asked,
    { toRecord, positionOf }: RowReader,
    rows: unknown[][],
    hasBehind: boolean,
  ): Slice<T> {
    const { query, isBackward } = asked;
    const page = rows.slice(0, query.limit);
    if (isBackward) page.reverse();
    const hasAhead = rows.length > query.limit;
    const [hasNext, hasPrevious] = isBackward ? [hasBehind, hasAhead] : [hasAhead, hasBehind];
    const cursorAt = (index: number) => makeCursor(nameOfList(asked), positionOf(page.at(index)));
    return { data: page.map(toRecord) as T[], hasNext, hasPrevious, cursorAt };
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
