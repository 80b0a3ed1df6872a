import { and, getTableColumns, type PgColumn, type SQLWrapper, sql } from '../../drizzle/orm.ts';
import { makeCursor, type Place, readCursor } from '../core/cursors.ts';
import type { CursorPage } from '../core/pages.ts';
import type { Connection } from '../database/connection.ts';
import { databaseFailure } from '../database/databaseErrors.ts';
import { cursorQuery, eachOwner, owner, partOfPlace } from '../database/statements/cursorQuery.ts';
import { rowMapper, rowsOf } from '../database/statements/statement.ts';
import {
  type Cursors,
  conditionsOf,
  inPeriod,
  isIndexedWithId,
  type ListQuery,
  type ListRules,
  namesIn,
  periodOf,
  type Range,
  refusal,
  sortOf,
} from './listRules.ts';

/** The order in which a list with these filters is read. */
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

/**
 * Functions that read one page by cursor, or the first page of each of several values of a filter in one statement. A page
 * costs the same at any depth, because nothing is counted or skipped: it begins at a place in an index.
 */
export function cursorReader<T, Filter extends string, Sort extends string>(rules: ListRules<Filter, Sort>) {
  type Query = ListQuery<Filter, Sort>;
  const columns = rules.columns ?? getTableColumns(rules.table);
  const toRecord = rowMapper(columns);
  const width = Object.keys(columns).length;
  const statements = new Map<string, ReturnType<typeof rowsOf>>();

  function statementFor(query: Query, order: Order<Filter>, reading: Reading<Filter>) {
    const bounds = namesIn(['createdSince', 'createdBefore'], query);
    const key = JSON.stringify([order.used, order.lead, query.sort, bounds, reading]);
    const made = statements.get(key) ?? rowsOf(queryFor(rules, query, order, { ...reading, columns }));
    statements.set(key, made);
    return made;
  }

  /** The page of these rows, which may have one more than the limit. */
  function pageOf(query: Query, rows: unknown[][], hasBehind: boolean): CursorPage<T> {
    const { limit } = query;
    const { sort } = orderOf(rules, query);
    const backward = query.before !== undefined;
    const page = rows.slice(0, limit);
    if (backward) page.reverse();
    const list = nameOf(rules, query);
    const cursorAt = (index: number) => makeCursor(list, placeIn(page.at(index), width, sort));
    const hasAhead = rows.length > limit;
    const [hasNext, hasPrevious] = backward ? [hasBehind, hasAhead] : [hasAhead, hasBehind];
    const next = hasNext ? cursorAt(-1) : null;
    const previous = hasPrevious ? cursorAt(0) : null;
    return { data: page.map(toRecord) as T[], meta: { limit, next, previous }, cursorAt };
  }

  async function one(db: Connection, query: Query): Promise<CursorPage<T>> {
    const order = orderOf(rules, query);
    const { sort } = order;
    const period = periodOf(query);
    const start = startOf(nameOf(rules, query), query, sort.length + 1);
    const read = async (down: boolean, from: Place, limit: number) => {
      const run = statementFor(query, order, { isPlaced: sort.length > 0 && from.length > 0, down });
      const parts = Object.fromEntries(from.map((part, index) => [partOfPlace(index), part]));
      const range = sort.length === 0 ? rangeFrom(period, from[0], down) : period;
      return run(db, { ...query, ...range, ...parts, limit });
    };
    const rows = await read(order.down, start, query.limit + 1).catch(error => {
      throw isNoValue(error) ? wrongCursor(query) : error;
    });
    // An empty page has all records behind it: from there, the way back begins at the other end of the list.
    const behind = placeIn(rows[0], width, sort);
    const hasBehind = start.length > 0 && (await read(!order.down, behind, 1)).length > 0;
    return pageOf(query, rows, hasBehind);
  }

  async function firstOfEach(db: Connection, filter: Filter, query: Query, owners: string[], most: number) {
    const order = orderOf(rules, query);
    const run = statementFor(query, order, { isPlaced: false, down: order.down, owned: filter });
    const rows = await run(db, {
      ...{ ...query, ...periodOf(query), limit: query.limit + 1 },
      ...{ owners: owners.join(), most: most + owners.length },
    });
    const byOwner = Map.groupBy(rows, row => row.at(-1));
    const pages = owners.map((owner): [string, CursorPage<T>] => [
      owner,
      pageOf({ ...query, [filter]: owner }, byOwner.get(owner) ?? [], false),
    ]);
    return new Map(pages);
  }
  return { one, firstOfEach };
}

/** A list with its order and its filters: what a cursor fits. */
function nameOf<Filter extends string, Sort extends string>(
  { name, filters }: ListRules<Filter, Sort>,
  query: ListQuery<Filter, Sort>,
): string {
  const used = namesIn(Object.keys(filters) as Filter[], query);
  return JSON.stringify([name, query.sort, periodOf(query), used.map(filter => [filter, query[filter]])]);
}

const placeIn = (row: unknown[] | undefined, width: number, sort: SQLWrapper[]) =>
  (row?.slice(width, width + sort.length + 1) ?? []) as Place;

function orderOf<Filter extends string, Sort extends string>(
  { table, filters, sorts, rarestFirst }: ListRules<Filter, Sort>,
  query: ListQuery<Filter, Sort>,
): Order<Filter> {
  const used = namesIn(Object.keys(filters) as Filter[], query);
  const { name, descending } = sortOf(query.sort);
  // A column that has one value orders nothing, and so the cursor needs no long title.
  const sort = sorts[name].filter(column => !used.some(filter => filters[filter] === column));
  const isLead = (filter: Filter) => {
    const column = filters[filter];
    return typeof column !== 'function' && used.includes(filter) && isIndexedWithId(table, column);
  };
  const candidates = rarestFirst?.(query) ?? used;
  const lead = sort.length === 0 ? candidates.find(isLead) : undefined;
  return { used, lead, sort, down: descending !== (query.before !== undefined) };
}

function queryFor<Filter extends string, Sort extends string>(
  rules: ListRules<Filter, Sort>,
  query: ListQuery<Filter, Sort>,
  { used, lead, sort }: Order<Filter>,
  { owned, ...reading }: Reading<Filter> & { columns: Record<string, PgColumn> },
) {
  const others = used.filter(name => name !== lead);
  const valueFor = (filter: string) => (filter === owned ? owner : sql.placeholder(filter));
  const page = cursorQuery({
    ...reading,
    table: rules.table,
    where: and(
      sort.length > 0 ? inPeriod(rules.table, query) : undefined,
      ...conditionsOf(rules, others, valueFor),
    ),
    lead: lead && { column: rules.filters[lead] as PgColumn, value: valueFor(lead) },
    sort,
  });
  return owned ? eachOwner(page) : page;
}

/** The ids of a period on one side of an id. */
function rangeFrom({ above, below }: Range, id: string | undefined, down: boolean): Range {
  if (id === undefined) return { above, below };
  return down ? { above, below: id < below ? id : below } : { above: id > above ? id : above, below };
}

/** Where a page begins. */
function startOf(list: string, query: Cursors, parts: number): Place {
  const { after, before } = query;
  if (after !== undefined && before !== undefined) throw refusal('before', 'cannot be combined with "after"');
  const cursor = before ?? after;
  const start = cursor ? readCursor(list, cursor, parts) : [];
  if (start === undefined) throw wrongCursor(query);
  return start;
}

const wrongCursor = ({ before }: Cursors) =>
  refusal(
    before === undefined ? 'after' : 'before',
    'is not a cursor of this list with these filters and this sort',
  );

/** A forged cursor may hold a value that its column cannot have, such as a word as a number. */
const isNoValue = (error: unknown) => databaseFailure(error)?.code.startsWith('22');
