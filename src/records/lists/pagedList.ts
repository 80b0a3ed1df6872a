import { Column, is, type SQLWrapper } from '#drizzle/orm.ts';
import type { Context } from '#src/access/context.ts';
import { need } from '#src/access/need.ts';
import { firstId } from '#src/core/ids.ts';
import { setBounded } from '#src/core/kept.ts';
import type { Connection } from '#src/database/connection.ts';
import { rowsOf } from '#src/database/statements/statement.ts';
import { type Asked, ask, isNoValue, nameOfList, positionIn, wrongCursor } from './asked.ts';
import { nullsOfSort, search } from './criteria.ts';
import { type CursorPosition, makeCursor } from './cursors.ts';
import type { CursorPage, ListPage, Slice } from './pages.ts';
import { readAndCharge, readOnConnectionFor, rowsPerPoint } from './prices.ts';
import { totalsStatement } from './rows.ts';
import {
  type Criteria,
  type Cursors,
  type ListQuery,
  type ListRules,
  namesIn,
  ownFilter,
  wrongParameter,
} from './rules.ts';
import { ids, type PageReading, partsOf, type Selection } from './selection.ts';
import { type Plan, planPage, positionValue } from './statements.ts';
import { type Page, waysOf } from './ways.ts';

/** The ids of parents that have a list each, and the filter that selects the list of one id. */
export interface Parents<Filter extends string = string> {
  filter: Filter;
  ids: string[];
}

/** The rows of a page, the total if it was counted, and how many rows were passed. */
interface Found {
  toRecord: (row: unknown[]) => unknown;
  rows: unknown[][];
  total: number;
  passed: number;
}

/** The most statements of a list that are prepared: PostgreSQL keeps each on each connection. */
const mostPrepared = 200;
const mostPlans = 1000;

/**
 * A list of records of type T, read as one list or as a list for each of many parents. A page by number comes with the
 * total. A page by cursor costs the same at any depth, because nothing is counted or skipped: it begins at a position
 * in an index.
 */
export class PagedList<T, Filter extends string, Sort extends string> {
  readonly #rules: ListRules;
  readonly #plans = new Map<string, Plan>();
  readonly #totals = new Map<string, ReturnType<typeof rowsOf>>();
  readonly #prepared = new Set<string>();

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
    const { rules, reading, values } = this.#ask(context, query);
    const [part, ...otherParts] = partsOf(rules, reading);
    const used = otherParts.length > 0 ? reading.used : reading.used.concat(part ?? []);
    const asked = { ...reading, used, from: 'number' } as const;
    const { rows, toRecord, total } = await this.#readAny(context, rules, asked, values);
    const { page = 1, limit } = query;
    const meta = { page, limit, total, totalPages: Math.ceil(total / limit) };
    return { data: rows.map(toRecord) as T[], meta, hasNext: page * limit < total };
  }

  async byCursor(context: Context, query: ListQuery<Filter, Sort>): Promise<CursorPage<T>> {
    const asked = this.#ask(context, query);
    const { rules, reading, isBackward } = asked;
    const plan = this.#planOf(rules, { ...reading, from: 'end', by: ids, way: 'ordered' });
    const lengths = partsOf(rules, reading).map(([part]) => (part === nullsOfSort ? 1 : plan.length));
    const start = positionIn(asked, lengths);
    const rows = await this.#readFrom(context, asked, isBackward, start, query.limit + 1).catch(error => {
      throw start.length > 0 && isNoValue(error) ? wrongCursor(asked) : error;
    });
    // The page behind an empty one is the last page of the list, or the first one for `before`.
    const behind =
      start.length > 0 && this.#readFrom(context, asked, !isBackward, plan.positionOf(rows[0]), 1);
    const slice = this.#sliceOf(asked, plan, rows, ((await behind) || []).length > 0);
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
    const { rules, reading, values, isBackward } = this.#ask(context, { ...query, [filter]: '' }, filter);
    const $skip = Number(values.$skip);
    const [only = '', ...otherIds] = ids;
    // The list of one parent is read as any other, by whichever of its criteria has few rows.
    if (otherIds.length === 0 && $skip === 0 && reading.used.length > 1)
      return new Map([[only, await this.byCursor(context, { ...query, [filter]: only })]]);
    // Counting the lists pays for the rows that the pages pass, because it counts at least as many.
    const totals =
      $skip * ids.length >= rowsPerPoint ? await this.totalOfEach(context, { filter, ids }, query) : [];
    const passed = [...totals].reduce((sum, [, total]) => sum + Math.min(total, $skip), 0);
    const descending = reading.descending !== isBackward;
    // Making words is so slow that PostgreSQL would search the whole index for each parent.
    const way = reading.used.includes(search) ? 'gathered' : 'ordered';
    const plan = this.#planOf(rules, { ...reading, descending, from: 'number', by: filter, way });
    const limits = { limit: query.limit + 1, $most: most + ids.length, $parents: ids.join() };
    const slow = way === 'gathered' ? Number.POSITIVE_INFINITY : passed;
    const rows = await readOnConnectionFor(context, slow, db => plan.run(db, { ...values, ...limits }));
    const byParent = Map.groupBy(rows, plan.parentOf);
    const cutRange = (id: string) =>
      this.#sliceOf(this.#ask(context, { ...query, [filter]: id }), plan, byParent.get(id) ?? [], false);
    return new Map(ids.map(id => [id, cutRange(id)]));
  }

  /** Reads the total of each parent in one statement. */
  async totalOfEach(
    context: Context,
    { filter, ids }: Parents<Filter>,
    criteria: Criteria<Filter>,
  ): Promise<Map<string, number>> {
    const query = { ...criteria, [filter]: '', limit: 1 };
    const { rules, reading, values } = this.#ask(context, query, filter);
    const [only = '', ...otherIds] = ids;
    if (otherIds.length === 0 && reading.used.length > 1) {
      const { meta } = await this.byNumber(context, { ...query, [filter]: only });
      return new Map([[only, meta.total]]);
    }
    const selection = { used: reading.used, hasPeriod: reading.hasPeriod, perParent: filter, by: filter };
    const make = (isRare: boolean) => rowsOf(totalsStatement(rules, selection), isRare);
    const run = this.#kept(this.#totals, selection, make);
    const rows = await readAndCharge(
      context,
      (db, $most) => run(db, { ...values, $most, $parents: ids.join() }),
      rows => rows.reduce((sum, [, , passed]) => sum + Number(passed), 0),
      reading.used.includes(search),
    );
    const found = new Map(rows.map(([id, total]) => [id, Number(total)]));
    return new Map(ids.map(id => [id, found.get(id) ?? 0]));
  }

  /** The query, limited to the caller's records if the list is private and the caller has only `own`. */
  #ask(context: Context, given: object, perParent?: string): Asked {
    const { scope, filters } = this.#rules;
    need(context, scope);
    context.budget?.check();
    const { scopes, person } = context.actor;
    const isOwn = !scopes.includes('read') && ownFilter in filters;
    const query = isOwn ? { ...given, [ownFilter]: person ?? firstId } : given;
    return ask(this.#rules, query as ListQuery, perParent);
  }

  /** Reads the rows beyond a position, one part of the list after the other. */
  async #readFrom(
    context: Context,
    { rules, reading, values }: Asked,
    isBackward: boolean,
    position: CursorPosition,
    limit: number,
  ): Promise<unknown[][]> {
    const descending = reading.descending !== isBackward;
    const parts = partsOf(rules, reading);
    if (isBackward) parts.reverse();
    // A position without a value of the sort is among the records without one.
    const isNull = position.length === 1;
    const begins = parts.findIndex(
      ([part]) => position.length === 0 || !part || (part === nullsOfSort) === isNull,
    );
    const rows: unknown[][] = [];
    let from = position;
    for (const part of parts.slice(begins)) {
      const used = reading.used.concat(part);
      const next = { ...values, limit: limit - rows.length };
      rows.push(...(await this.#readPart(context, rules, { ...reading, used, descending }, next, from)));
      if (rows.length >= limit) break;
      from = [];
    }
    return rows;
  }

  async #readPart(
    context: Context,
    rules: ListRules,
    reading: Asked['reading'],
    values: Asked['values'],
    position: CursorPosition,
  ): Promise<unknown[][]> {
    const isById = position.length === 1;
    const names = isById
      ? [reading.descending ? '$below' : '$above']
      : position.map((_, i) => positionValue(i));
    const placed = Object.fromEntries(position.map((value, index) => [names[index], value]));
    const from = position.length > 1 ? 'position' : 'end';
    return (await this.#readAny(context, rules, { ...reading, from }, { ...values, ...placed })).rows;
  }

  /** Reads a page in the first way that is enough, with the total if the page has a number, and charges for it. */
  #readAny(context: Context, rules: ListRules, page: Page, values: Asked['values']) {
    const read = async (db: Connection, most: number): Promise<Found> => {
      for (const { ways, $most } of waysOf(rules, page, most)) {
        let passed = 0;
        for (const way of ways) {
          const { run, toRecord } = this.#planOf(rules, way);
          const all = await run(db, { ...values, $most });
          const rows = all.filter(([first]) => first !== null);
          const [total = 0, counted = 0] = (all[0] ?? []).slice(-2).map(Number);
          const hasCount = way.way === 'gathered' || page.from === 'number';
          const isEnough = hasCount ? counted < $most : rows.length >= Number(values.limit);
          passed += hasCount ? counted : way.way === 'ordered' ? 0 : $most;
          if (isEnough || way.way === 'ordered') return { rows, toRecord, total, passed };
        }
      }
      return { rows: [], toRecord: row => row, total: 0, passed: most };
    };
    return readAndCharge(context, read, ({ passed }) => passed, page.used.includes(search));
  }

  /** The page of these rows. One row more than the limit shows that there are more. */
  #sliceOf(asked: Asked, { toRecord, positionOf }: Plan, rows: unknown[][], hasBehind: boolean): Slice<T> {
    const { query, isBackward } = asked;
    const page = rows.slice(0, query.limit);
    if (isBackward) page.reverse();
    const hasAhead = rows.length > query.limit;
    const [hasNext, hasPrevious] = isBackward ? [hasBehind, hasAhead] : [hasAhead, hasBehind];
    const cursorAt = (index: number) => makeCursor(nameOfList(asked), positionOf(page.at(index)));
    return { data: page.map(toRecord) as T[], hasNext, hasPrevious, cursorAt };
  }

  #planOf(rules: ListRules, page: PageReading): Plan {
    return this.#kept(this.#plans, page, isRare => planPage(rules, { ...page, isRare }));
  }

  /**
   * A statement, kept as text. Only those with at most one criterion are prepared, and not above a maximum: clients can
   * ask for any number of combinations.
   */
  #kept<V>(statements: Map<string, V>, selection: Selection | PageReading, make: (isRare: boolean) => V): V {
    const key = JSON.stringify(selection);
    const known = statements.get(key);
    if (known !== undefined) return known;
    const chosen = selection.used.filter(each => !each.startsWith('$') && each !== selection.perParent);
    const isPlanned = 'way' in selection && selection.way === 'planned';
    const isCommon = chosen.length < 2 && !isPlanned && this.#prepared.size < mostPrepared;
    if (isCommon) this.#prepared.add(key);
    const made = make(!isCommon && !this.#prepared.has(key));
    setBounded(statements, key, made, mostPlans);
    return made;
  }
}
