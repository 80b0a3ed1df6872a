import {
  Column,
  getTableColumns,
  getTableConfig,
  is,
  type PgColumn,
  type SQLWrapper,
} from '../../../drizzle/orm.ts';
import { keptIn } from '../../core/keptIn.ts';
import type { Connection } from '../../database/connection.ts';
import { databaseFailure } from '../../database/databaseErrors.ts';
import { rowMapper, rowsOf } from '../../database/statements/statement.ts';
import { makeCursor, type Position, readCursor } from './cursors.ts';
import { type CursorPage, type Page, pageOf, type Slice, skipped } from './pages.ts';
import {
  type Criteria,
  type Cursors,
  hasPeriod,
  type ListQuery,
  type ListRules,
  namesIn,
  periodOf,
  type Range,
  wrongParameter,
} from './rules.ts';
import {
  columnsOf,
  ownPlaceholders,
  pageStatement,
  positionValue,
  type Reading,
  totalsStatement,
} from './statements.ts';

type Order<Filter extends string> = Omit<Reading<Filter>, 'from'>;
type Rows = unknown[][];

/** Records with a list each, as values of the filter that selects it. */
export interface Parents<Filter extends string> {
  filter: Filter;
  ids: string[];
}

/**
 * Reads pages of a list, for itself or for each of many parents. A page by number comes with the total. A page by cursor costs
 * the same at any depth, because nothing is counted or skipped: it begins at a position in an index.
 */
export class ListReader<T, Filter extends string, Sort extends string> {
  readonly #rules: ListRules<Filter, Sort>;
  readonly #toRecord: (row: unknown[]) => T;
  readonly #indexed: Filter[];
  readonly #statements = new Map<string, ReturnType<typeof rowsOf>>();
  readonly #totals = new Map<string, ReturnType<typeof totalsStatement>>();

  constructor(rules: ListRules<Filter, Sort>) {
    this.#rules = rules;
    this.#toRecord = rowMapper(rules.columns ?? getTableColumns(rules.table)) as (row: unknown[]) => T;
    const names = Object.keys(rules.filters) as Filter[];
    const taken = names.find(name => ownPlaceholders.includes(name));
    if (taken !== undefined) throw new Error(`A filter cannot be called "${taken}".`);
    for (const [name, columns] of Object.entries<SQLWrapper[]>(rules.sorts))
      if (columns.some(column => is(column, Column) && !column.notNull))
        throw new Error(`A list cannot be sorted by "${name}", which may be null.`);
    this.#indexed = names.filter(name => hasIndexWithId(rules.table, rules.filters[name]));
  }

  async byNumber(db: Connection, query: ListQuery<Filter, Sort>): Promise<Page<T>> {
    const run = this.#statementFor({ ...this.#orderOf(query), from: 'number' }, query);
    const rows = await run(db, { ...query, ...periodOf(query), skip: skipped(query) });
    const records = rows.filter(([first]) => first !== null).map(this.#toRecord);
    return pageOf(records, Number(rows[0]?.at(-1)), query);
  }

  async byCursor(db: Connection, query: ListQuery<Filter, Sort>): Promise<CursorPage<T>> {
    const order = this.#orderOf(query);
    const { sort } = order;
    const period = periodOf(query);
    const start = positionIn(query, this.#nameOf(query), sort.length + 1);
    const read = async (descending: boolean, position: Position, limit: number): Promise<Rows> => {
      const from = sort.length > 0 && position.length > 0 ? 'position' : 'end';
      const run = this.#statementFor({ ...order, descending, from }, query);
      const values = Object.fromEntries(position.map((value, index) => [positionValue(index), value]));
      const range = sort.length === 0 ? rangeFrom(period, position[0], descending) : period;
      return run(db, { ...query, ...range, ...values, limit });
    };
    const rows = await read(order.descending, start, query.limit + 1).catch(error => {
      throw isNoValue(error) ? wrongCursor(query) : error;
    });
    // From an empty page, the way back begins at the other end of the list.
    const hasBehind =
      start.length > 0 && (await read(!order.descending, positionOf(rows[0], order), 1)).length > 0;
    const slice = this.#sliceOf(query, order, rows, hasBehind);
    const next = slice.hasNext ? slice.cursorAt(-1) : null;
    const previous = slice.hasPrevious ? slice.cursorAt(0) : null;
    return { ...slice, meta: { limit: query.limit, next, previous } };
  }

  /** The page of each parent, by number or at an end of the list: one statement, and at most so many records in all. */
  async ofEach(
    db: Connection,
    { filter, ids }: Parents<Filter>,
    query: ListQuery<Filter, Sort>,
    most: number,
  ): Promise<Map<string, Slice<T>>> {
    const order = { ...this.#orderOf({ ...query, [filter]: '' }), perParent: filter };
    const from = namesIn(['after', 'before'], query).length > 0 ? 'end' : 'number';
    const run = this.#statementFor({ ...order, from }, query);
    const limits = { skip: skipped(query), limit: query.limit + 1, most: most + ids.length };
    const rows = await run(db, { ...query, ...periodOf(query), ...limits, parents: ids.join() });
    const parent = columnsOf(order).indexOf(this.#rules.filters[filter] as PgColumn);
    const byParent = Map.groupBy(rows, row => row[parent]);
    const sliceOf = (id: string) =>
      this.#sliceOf({ ...query, [filter]: id }, order, byParent.get(id) ?? [], false);
    return new Map(ids.map(id => [id, sliceOf(id)]));
  }

  /** The total of each parent: one statement. */
  async totalOfEach(
    db: Connection,
    { filter, ids }: Parents<Filter>,
    criteria: Criteria<Filter>,
  ): Promise<Map<string, number>> {
    const used = this.#usedIn({ ...criteria, [filter]: '' });
    const selection = { used, hasPeriod: hasPeriod(criteria), perParent: filter };
    const make = () => totalsStatement({ rules: this.#rules, ...selection });
    const run = keptIn(this.#totals, JSON.stringify(selection), make);
    const rows = await run(db, { ...criteria, ...periodOf(criteria), parents: ids.join() });
    return new Map(rows.map(({ parent, total }) => [parent, total]));
  }

  /** The filters that have a value, in one order. */
  #usedIn(criteria: Criteria<Filter>): Filter[] {
    return namesIn(Object.keys(this.#rules.filters) as Filter[], criteria);
  }

  /** The records of these rows, of which one may be beyond the limit. */
  #sliceOf(query: ListQuery<Filter, Sort>, order: Order<Filter>, rows: Rows, hasBehind: boolean): Slice<T> {
    const backward = query.before !== undefined;
    const page = rows.slice(0, query.limit);
    if (backward) page.reverse();
    const hasAhead = rows.length > query.limit;
    const [hasNext, hasPrevious] = backward ? [hasBehind, hasAhead] : [hasAhead, hasBehind];
    const cursorAt = (index: number) => makeCursor(this.#nameOf(query), positionOf(page.at(index), order));
    return { data: page.map(this.#toRecord), hasNext, hasPrevious, cursorAt };
  }

  #orderOf(query: ListQuery<Filter, Sort>): Order<Filter> {
    const { filters, sorts, rarestFirst } = this.#rules;
    const used = this.#usedIn(query);
    // A column that has one value orders nothing, and so the cursor needs no long title.
    const sort = sorts[query.sort.replace('-', '') as Sort].filter(
      column => !used.some(filter => filters[filter] === column),
    );
    const hasIndex = (filter: Filter) => used.includes(filter) && this.#indexed.includes(filter);
    const prefix = sort.length === 0 ? (rarestFirst?.(query) ?? used).find(hasIndex) : undefined;
    const descending = query.sort.startsWith('-') !== (query.before !== undefined);
    const selection = { rules: this.#rules, used, hasPeriod: hasPeriod(query) };
    return { ...selection, prefix, sort, descending };
  }

  /** The list with its order and its filters: what a cursor fits. */
  #nameOf(query: ListQuery<Filter, Sort>): string {
    const filters = this.#usedIn(query).map(filter => [filter, query[filter]]);
    return JSON.stringify([this.#rules.name, query.sort, periodOf(query), filters]);
  }

  #statementFor(reading: Reading<Filter>, query: ListQuery<Filter, Sort>) {
    const { rules, sort, ...rest } = reading;
    const key = JSON.stringify([query.sort, rest]);
    return keptIn(this.#statements, key, () => rowsOf(pageStatement(reading)));
  }
}

/** Whether an index has the column together with the id: the records of a value are in the order of creation there. */
const hasIndexWithId = (
  table: ListRules<never, never>['table'],
  filter: ListRules<string, never>['filters'][string],
) =>
  typeof filter !== 'function' &&
  getTableConfig(table).indexes.some(({ config: { columns } }) =>
    [filter, table.id].every(({ name }, index) => (columns[index] as PgColumn | undefined)?.name === name),
  );

/** The position of a row: the values of the sort, then the id. */
function positionOf<Filter extends string>(row: unknown[] | undefined, order: Order<Filter>): Position {
  if (row === undefined) return [];
  const columns = columnsOf(order);
  return [...order.sort, order.rules.table.id].map(part => String(row[columns.indexOf(part)]));
}

/** The ids of a period on one side of an id. */
function rangeFrom({ above, below }: Range, id: string | undefined, descending: boolean): Range {
  if (id === undefined) return { above, below };
  return descending ? { above, below: id < below ? id : below } : { above: id > above ? id : above, below };
}

/** The position of the cursor, after which a page begins. */
function positionIn(query: Cursors, list: string, values: number): Position {
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

/** A forged cursor may hold a value that its column cannot have, such as a word as a number. */
const isNoValue = (error: unknown) => databaseFailure(error)?.code.startsWith('22');
