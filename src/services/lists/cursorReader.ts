import {
  and,
  getTableColumns,
  getTableConfig,
  type PgColumn,
  type SQL,
  type SQLWrapper,
  sql,
} from '../../../drizzle/orm.ts';
import type { Connection } from '../../database/connection.ts';
import { databaseFailure } from '../../database/databaseErrors.ts';
import { cursorQuery, eachOwner, owner, partOfPlace } from '../../database/statements/cursorQuery.ts';
import { rowMapper, rowsOf } from '../../database/statements/statement.ts';
import { makeCursor, type Place, readCursor } from './cursors.ts';
import type { CursorPage } from './pages.ts';
import {
  type Cursors,
  conditionsOf,
  inPeriod,
  type ListQuery,
  type ListRules,
  namesIn,
  periodOf,
  type Range,
  sortOf,
  wrongParameter,
} from './rules.ts';

/** How a list with these filters is read. */
interface Order<Filter extends string> {
  used: Filter[];
  /** The filter whose index is used. */
  lead: Filter | undefined;
  /** Before the id. */
  sort: SQLWrapper[];
  /** Whether a page is read from higher to lower values: by a descending sort, or backward by an ascending one. */
  down: boolean;
}

interface Reading<Filter extends string> {
  isPlaced: boolean;
  down: boolean;
  /** The filter that has another value for each owner. */
  owned?: Filter;
}

type Rows = unknown[][];

/**
 * Reads pages of a list by cursor. A page costs the same at any depth, because nothing is counted or skipped: it begins at a
 * place in an index.
 */
export class CursorReader<T, Filter extends string, Sort extends string> {
  readonly #rules: ListRules<Filter, Sort, PgColumn | SQL>;
  readonly #columns: Record<string, PgColumn | SQL>;
  readonly #toRecord: (row: unknown[]) => unknown;
  readonly #indexed: Filter[];
  readonly #statements = new Map<string, ReturnType<typeof rowsOf>>();

  constructor(rules: ListRules<Filter, Sort, PgColumn | SQL>) {
    this.#rules = rules;
    this.#columns = rules.columns ?? getTableColumns(rules.table);
    this.#toRecord = rowMapper(this.#columns);
    this.#indexed = indexedFilters(rules);
  }

  async page(db: Connection, query: ListQuery<Filter, Sort>): Promise<CursorPage<T>> {
    const order = this.#orderOf(query);
    const { sort, down } = order;
    const period = periodOf(query);
    const start = startOf(nameOf(this.#rules, query), query, sort.length + 1);
    const read = async (down: boolean, from: Place, limit: number): Promise<Rows> => {
      const run = this.#statementFor(query, order, { isPlaced: sort.length > 0 && from.length > 0, down });
      const parts = Object.fromEntries(from.map((part, index) => [partOfPlace(index), part]));
      const range = sort.length === 0 ? rangeFrom(period, from[0], down) : period;
      return run(db, { ...query, ...range, ...parts, limit });
    };
    const rows = await read(down, start, query.limit + 1).catch(error => {
      throw isNoValue(error) ? wrongCursor(query) : error;
    });
    // An empty page has all records behind it: from there, the way back begins at the other end of the list.
    const hasBehind = start.length > 0 && (await read(!down, this.#placeOf(rows[0], order), 1)).length > 0;
    return this.#pageOf(query, order, rows, hasBehind);
  }

  /** The page at an end of the list for each of these values of a filter, and at most so many records in all. */
  async ends(
    db: Connection,
    query: ListQuery<Filter, Sort>,
    { filter, owners, most }: { filter: Filter; owners: string[]; most: number },
  ): Promise<Map<string, CursorPage<T>>> {
    const order = this.#orderOf({ ...query, [filter]: '' });
    const run = this.#statementFor(query, order, { isPlaced: false, down: order.down, owned: filter });
    const limits = { limit: query.limit + 1, most: most + owners.length };
    const rows = await run(db, { ...query, ...periodOf(query), ...limits, owners: owners.join() });
    const byOwner = Map.groupBy(rows, row => row.at(-1));
    const pageOf = (owner: string) =>
      this.#pageOf({ ...query, [filter]: owner }, order, byOwner.get(owner) ?? [], false);
    return new Map(owners.map(owner => [owner, pageOf(owner)]));
  }

  /** The page of these rows, of which one may be beyond the limit. */
  #pageOf(query: ListQuery<Filter, Sort>, order: Order<Filter>, rows: Rows, hasBehind: boolean) {
    const { limit } = query;
    const backward = query.before !== undefined;
    const page = rows.slice(0, limit);
    if (backward) page.reverse();
    const list = nameOf(this.#rules, query);
    const cursorAt = (index: number) => makeCursor(list, this.#placeOf(page.at(index), order));
    const hasAhead = rows.length > limit;
    const [hasNext, hasPrevious] = backward ? [hasBehind, hasAhead] : [hasAhead, hasBehind];
    const next = hasNext ? cursorAt(-1) : null;
    const previous = hasPrevious ? cursorAt(0) : null;
    return { data: page.map(this.#toRecord) as T[], meta: { limit, next, previous }, cursorAt };
  }

  #placeOf(row: unknown[] | undefined, { sort }: Order<Filter>): Place {
    const width = Object.keys(this.#columns).length;
    return (row?.slice(width, width + sort.length + 1) ?? []) as Place;
  }

  #orderOf(query: ListQuery<Filter, Sort>): Order<Filter> {
    const { filters, sorts, rarestFirst } = this.#rules;
    const used = namesIn(Object.keys(filters) as Filter[], query);
    const { name, descending } = sortOf(query.sort);
    // A column that has one value orders nothing, and so the cursor needs no long title.
    const sort = sorts[name].filter(column => !used.some(filter => filters[filter] === column));
    const isLead = (filter: Filter) => used.includes(filter) && this.#indexed.includes(filter);
    const lead = sort.length === 0 ? (rarestFirst?.(query) ?? used).find(isLead) : undefined;
    return { used, lead, sort, down: descending !== (query.before !== undefined) };
  }

  #statementFor(query: ListQuery<Filter, Sort>, order: Order<Filter>, reading: Reading<Filter>) {
    const bounds = namesIn(['createdSince', 'createdBefore'], query);
    const key = JSON.stringify([order.used, order.lead, query.sort, bounds, reading]);
    const made = this.#statements.get(key) ?? rowsOf(this.#build(query, order, reading));
    this.#statements.set(key, made);
    return made;
  }

  #build(
    query: ListQuery<Filter, Sort>,
    { used, lead, sort }: Order<Filter>,
    { owned, ...reading }: Reading<Filter>,
  ) {
    const { table, filters } = this.#rules;
    const others = used.filter(name => name !== lead);
    const valueFor = (filter: string) => (filter === owned ? owner : sql.placeholder(filter));
    const period = sort.length > 0 ? inPeriod(table, query) : undefined;
    const page = cursorQuery({
      ...reading,
      ...{ table, columns: this.#columns, sort },
      where: and(period, ...conditionsOf(this.#rules, others, valueFor)),
      lead: lead && { column: filters[lead] as PgColumn, value: valueFor(lead) },
    });
    return owned ? eachOwner(page) : page;
  }
}

/** The filters whose column has an index together with the id: the records of a value are in the order of creation there. */
function indexedFilters<Filter extends string>({
  table,
  filters,
}: Pick<ListRules<Filter, string>, 'table' | 'filters'>): Filter[] {
  const { indexes } = getTableConfig(table);
  return (Object.keys(filters) as Filter[]).filter(name => {
    const column = filters[name];
    return (
      typeof column !== 'function' &&
      indexes.some(({ config }) =>
        [column, table.id].every((each, index) => (config.columns[index] as PgColumn)?.name === each.name),
      )
    );
  });
}

/** A list with its order and its filters: what a cursor fits. */
function nameOf<Filter extends string, Sort extends string>(
  { name, filters }: Pick<ListRules<Filter, Sort>, 'name' | 'filters'>,
  query: ListQuery<Filter, Sort>,
): string {
  const used = namesIn(Object.keys(filters) as Filter[], query);
  return JSON.stringify([name, query.sort, periodOf(query), used.map(filter => [filter, query[filter]])]);
}

/** The ids of a period on one side of an id. */
function rangeFrom({ above, below }: Range, id: string | undefined, down: boolean): Range {
  if (id === undefined) return { above, below };
  return down ? { above, below: id < below ? id : below } : { above: id > above ? id : above, below };
}

/** Where a page begins. */
function startOf(list: string, query: Cursors, parts: number): Place {
  const { after, before } = query;
  if (after !== undefined && before !== undefined)
    throw wrongParameter('before', 'cannot be combined with "after"');
  const cursor = before ?? after;
  const start = cursor ? readCursor(list, cursor, parts) : [];
  if (start === undefined) throw wrongCursor(query);
  return start;
}

const wrongCursor = ({ before }: Cursors) =>
  wrongParameter(
    before === undefined ? 'after' : 'before',
    'is not a cursor of this list with these filters and this sort',
  );

/** A forged cursor may hold a value that its column cannot have, such as a word as a number. */
const isNoValue = (error: unknown) => databaseFailure(error)?.code.startsWith('22');
