import { Column, getTableName, is, type SQLWrapper } from '#drizzle/orm.ts';
import type { Context } from '#src/access/context.ts';
import { need } from '#src/access/need.ts';
import { firstId } from '#src/core/ids.ts';
import { keptIn } from '#src/core/kept.ts';
import type { Connection } from '#src/database/connection.ts';
import { databaseFailure } from '#src/database/databaseErrors.ts';
import { rowsOf } from '#src/database/statements/statement.ts';
import { totalsStatement } from './counts.ts';
import { type CursorPosition, makeCursor, readCursor } from './cursors.ts';
import type { CursorPage, ListPage, Slice } from './pages.ts';
import { readAndCharge, readOnConnectionFor, rowsPerPoint } from './prices.ts';
import {
  type Criteria,
  type Cursors,
  hasPeriod,
  type ListQuery,
  type ListRules,
  namesIn,
  ownFilter,
  readPeriod,
  wrongParameter,
} from './rules.ts';
import { type PageReading, positionValue } from './selection.ts';
import { type Plan, planPage } from './statements.ts';

/** The ids of parents that have a list each, and the filter that selects the list of one id. */
export interface Parents<Filter extends string = string> {
  filter: Filter;
  ids: string[];
}

/**
 * A list of records of type T, read as one list or as a list for each of many parents. A page by number comes with the
 * total. A page by cursor costs the same at any depth, because nothing is counted or skipped: it begins at a position
 * in an index.
 */
export class PagedList<T, Filter extends string, Sort extends string> {
  readonly #rules: ListRules;
  readonly #plans = new Map<string, Plan>();
  readonly #totals = new Map<string, ReturnType<typeof rowsOf>>();

  constructor(rules: ListRules<Filter, Sort>) {
    this.#rules = rules as object as ListRules;
    for (const [name, columns] of Object.entries<SQLWrapper[]>(rules.sorts ?? {}))
      if (columns.some(column => is(column, Column) && !column.notNull))
        throw new Error(`A list cannot be sorted by "${name}", which may be null.`);
  }

  /** A page by cursor if the query has one, else by number. */
  async page(context: Context, query: ListQuery<Filter, Sort>): Promise<ListPage<T> | CursorPage<T>> {
    const [cursor] = namesIn(['after', 'before'], query as Cursors);
    if (cursor === undefined) return this.byNumber(context, query);
    if (query.page !== undefined) throw wrongParameter('page', `cannot be combined with "${cursor}"`);
    return this.byCursor(context, query);
  }

  async byNumber(context: Context, asked: ListQuery<Filter, Sort>): Promise<ListPage<T>> {
    const query = this.#allowed(context, asked);
    const reading = this.#readingOf(query, { from: 'number' });
    const { toRecord } = this.#planOf(reading);
    const values = cursorValues(query);
    const read = (db: Connection, $most: number) =>
      this.#planOf({ ...reading, isFew: $most <= rowsPerPoint }).run(db, { ...values, $most });
    const rows = await readAndCharge(context, read, ([first]) => Number(first?.at(-1)));
    const data = rows.filter(([first]) => first !== null).map(toRecord) as T[];
    const { page = 1, limit } = query;
    const total = Number(rows[0]?.at(-2));
    const meta = { page, limit, total, totalPages: Math.ceil(total / limit) };
    return { data, meta, hasNext: page * limit < total };
  }

  async byCursor(context: Context, asked: ListQuery<Filter, Sort>): Promise<CursorPage<T>> {
    const query = this.#allowed(context, asked);
    const reading = this.#readingOf(query, { from: 'end' });
    const plan = this.#planOf(reading);
    const start = positionIn(query, this.#listNameOf(query), plan.length);
    const read = async (descending: boolean, position: CursorPosition, limit: number) => {
      const isById = plan.length === 1;
      const from = !isById && position.length > 0 ? 'position' : 'end';
      const names = isById
        ? [descending ? '$below' : '$above']
        : position.map((_, index) => positionValue(index));
      const values = Object.fromEntries(position.map((value, index) => [names[index], value]));
      const { run } = this.#planOf({ ...reading, descending, from });
      return run(context.db, { ...cursorValues(query), ...values, limit });
    };
    const rows = await read(reading.descending, start, query.limit + 1).catch(error => {
      throw isNoValue(error) ? wrongCursor(query) : error;
    });
    // The page behind an empty one is the last page of the list, or the first one for `before`.
    const hasBehind =
      start.length > 0 && (await read(!reading.descending, plan.positionOf(rows[0]), 1)).length > 0;
    const slice = this.#sliceOf(query, plan, rows, hasBehind);
    const next = slice.hasNext ? slice.cursorAt(-1) : null;
    const previous = slice.hasPrevious ? slice.cursorAt(0) : null;
    return { ...slice, meta: { limit: query.limit, next, previous } };
  }

  /** Reads a page of each parent, by number or at an end of its list, in one statement, with at most `most` records. */
  async ofEach(
    context: Context,
    { filter, ids }: Parents<Filter>,
    asked: ListQuery<Filter, Sort>,
    most: number,
  ): Promise<Map<string, Slice<T>>> {
    const query = this.#allowed(context, asked);
    const { $skip } = cursorValues(query);
    // Counting the lists pays for the rows that the pages pass, because it counts at least as many.
    const totals =
      $skip * ids.length >= rowsPerPoint ? await this.totalOfEach(context, { filter, ids }, query) : [];
    const passed = [...totals].reduce((sum, [, total]) => sum + Math.min(total, $skip), 0);
    const how = { from: 'number', perParent: filter, brief: query.$brief } as const;
    const plan = this.#planOf(this.#readingOf({ ...query, [filter]: '' }, how));
    const limits = { limit: query.limit + 1, $most: most + ids.length };
    const values = { ...cursorValues(query), ...limits, $parents: ids.join() };
    const rows = await readOnConnectionFor(context, passed, db => plan.run(db, values));
    const byParent = Map.groupBy(rows, plan.parentOf);
    const cutRange = (id: string) =>
      this.#sliceOf({ ...query, [filter]: id }, plan, byParent.get(id) ?? [], false);
    return new Map(ids.map(id => [id, cutRange(id)]));
  }

  /** Reads the total of each parent in one statement. */
  async totalOfEach(
    context: Context,
    { filter, ids }: Parents<Filter>,
    asked: Criteria<Filter>,
  ): Promise<Map<string, number>> {
    const criteria = this.#allowed(context, asked);
    const used = this.#usedIn({ ...criteria, [filter]: '' });
    const selection = { used, hasPeriod: hasPeriod(criteria), perParent: filter, rarest: filter };
    const make = () => rowsOf(totalsStatement(this.#rules, selection));
    const run = keptIn(this.#totals, JSON.stringify(selection), make);
    const values = { ...criteria, ...readPeriod(criteria), $parents: ids.join() };
    const rows = await readAndCharge(
      context,
      (db, $most) => run(db, { ...values, $most }),
      rows => rows.reduce((sum, [, , passed]) => sum + Number(passed), 0),
    );
    const found = new Map(rows.map(([id, total]) => [id, Number(total)]));
    return new Map(ids.map(id => [id, found.get(id) ?? 0]));
  }

  /** The query, limited to the caller's records if the list is private and the caller has only `own`. */
  #allowed<Q extends object>(context: Context, query: Q): Q {
    const { scope, filters } = this.#rules;
    need(context, scope);
    context.budget?.check();
    const { scopes, person } = context.actor;
    if (scopes.includes('read') || !(ownFilter in filters)) return query;
    return { ...query, [ownFilter]: person ?? firstId };
  }

  /** The filters that have a value, always in the same order. */
  #usedIn(criteria: Criteria): string[] {
    return namesIn(Object.keys(this.#rules.filters), criteria);
  }

  /** The page of these rows. One row more than the limit shows that there are more. */
  #sliceOf(
    query: ListQuery,
    { toRecord, positionOf }: Plan,
    rows: unknown[][],
    hasBehind: boolean,
  ): Slice<T> {
    const isBackward = query.before !== undefined;
    const page = rows.slice(0, query.limit);
    if (isBackward) page.reverse();
    const hasAhead = rows.length > query.limit;
    const [hasNext, hasPrevious] = isBackward ? [hasBehind, hasAhead] : [hasAhead, hasBehind];
    const cursorAt = (index: number) => makeCursor(this.#listNameOf(query), positionOf(page.at(index)));
    return { data: page.map(toRecord) as T[], hasNext, hasPrevious, cursorAt };
  }

  #readingOf(query: ListQuery, how: Pick<PageReading, 'from' | 'perParent' | 'brief'>): PageReading {
    const used = this.#usedIn(query);
    const { sort: named = '-createdAt' } = query;
    const sort = named.replace('-', '');
    const { counted = [], rarestFirst } = this.#rules;
    // Filters whose totals are kept come last: they have few values, so each value has many records.
    const byRarity = used.toSorted((a, b) => Number(counted.includes(a)) - Number(counted.includes(b)));
    const rarest = [how.perParent ?? '', ...(rarestFirst?.(query) ?? byRarity)].find(each =>
      used.includes(each),
    );
    const descending = named.startsWith('-') !== (query.before !== undefined);
    return { ...how, used, hasPeriod: hasPeriod(query), rarest, sort, descending };
  }

  /** Names the list with its order and its filters. A cursor fits only the list whose name it was made with. */
  #listNameOf(query: ListQuery): string {
    const filters = this.#usedIn(query).map(filter => [filter, query[filter as never]]);
    return JSON.stringify([getTableName(this.#rules.table), query.sort, readPeriod(query), filters]);
  }

  #planOf(reading: PageReading): Plan {
    return keptIn(this.#plans, JSON.stringify(reading), () => planPage(this.#rules, reading));
  }
}

/** The values of a query, by placeholder of a statement. */
const cursorValues = (query: ListQuery) => ({
  ...query,
  ...readPeriod(query),
  $skip: ((query.page ?? 1) - 1) * query.limit,
});

/** The position of the cursor, after which a page begins. */
function positionIn(query: Cursors, list: string, values: number): CursorPosition {
  if (namesIn(['after', 'before'], query).length > 1)
    throw wrongParameter('before', 'cannot be combined with "after"');
  const cursor = query.before ?? query.after;
  const position = cursor ? readCursor(list, cursor, values) : [];
  if (position === undefined) throw wrongCursor(query);
  return position;
}

const wrongCursor = ({ before }: Cursors) =>
  wrongParameter(
    before === undefined ? 'after' : 'before',
    'is not a cursor of this list with these filters and this sort',
  );

/** A forged cursor may hold a value that its column cannot have, such as a word for a number. */
const isNoValue = (error: unknown) => databaseFailure(error)?.code.startsWith('22');
