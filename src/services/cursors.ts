import { and, getTableColumns, type PgColumn, type SQLWrapper } from '../../drizzle/orm.ts';
import { makeCursor, type Place, readCursor } from '../core/cursors.ts';
import type { CursorPage } from '../core/pages.ts';
import type { Connection } from '../database/connection.ts';
import { databaseFailure } from '../database/databaseErrors.ts';
import { cursorQuery, partOfPlace } from '../database/statements/cursorQuery.ts';
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
  descending: boolean;
}

/**
 * A function that reads one page by cursor. It costs the same at any depth, because it neither counts nor skips: a page
 * begins at a place in an index.
 */
export function cursorReader<T, Filter extends string, Sort extends string>(rules: ListRules<Filter, Sort>) {
  type Query = ListQuery<Filter, Sort>;
  const columns = rules.columns ?? getTableColumns(rules.table);
  const toRecord = rowMapper(columns);
  const width = Object.keys(columns).length;
  const statements = new Map<string, ReturnType<typeof rowsOf>>();

  function statementFor(query: Query, order: Order<Filter>, isPlaced: boolean, down: boolean) {
    const bounds = namesIn(['createdSince', 'createdBefore'], query);
    const key = JSON.stringify([order.used, order.lead, query.sort, bounds, isPlaced, down]);
    const made = statements.get(key) ?? rowsOf(queryFor(rules, query, order, { columns, isPlaced, down }));
    statements.set(key, made);
    return made;
  }

  return async (db: Connection, query: Query): Promise<CursorPage<T>> => {
    const { limit } = query;
    const order = orderOf(rules, query);
    const { used, sort } = order;
    const period = periodOf(query);
    const list = JSON.stringify([rules.name, query.sort, period, used.map(name => [name, query[name]])]);
    const { name, start } = startOf(list, query, sort.length + 1);
    const backward = name === 'before';

    const read = async (down: boolean, from: Place, limit: number) => {
      const run = statementFor(query, order, sort.length > 0 && from.length > 0, down);
      const parts = Object.fromEntries(from.map((part, index) => [partOfPlace(index), part]));
      const range = sort.length === 0 ? rangeFrom(period, from[0], down) : period;
      return run(db, { ...query, ...range, ...parts, limit });
    };
    const down = order.descending !== backward;
    const rows = await read(down, start, limit + 1).catch(error => {
      throw isNoValue(error) ? wrongCursor(name) : error;
    });
    const placeOf = (row: unknown[] | undefined) => (row?.slice(width) ?? []) as Place;
    // An empty page has all records behind it: from there, the way back begins at the other end of the list.
    const hasBehind = start.length > 0 && (await read(!down, placeOf(rows[0]), 1)).length > 0;
    const hasAhead = rows.length > limit;

    const page = rows.slice(0, limit);
    if (backward) page.reverse();
    const cursorAt = (index: number) => makeCursor(list, placeOf(page.at(index)));
    const [hasNext, hasPrevious] = backward ? [hasBehind, hasAhead] : [hasAhead, hasBehind];
    const next = hasNext ? cursorAt(-1) : null;
    const previous = hasPrevious ? cursorAt(0) : null;
    return { data: page.map(toRecord) as T[], meta: { limit, next, previous }, cursorAt };
  };
}

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
  return { used, lead: sort.length === 0 ? candidates.find(isLead) : undefined, sort, descending };
}

function queryFor<Filter extends string, Sort extends string>(
  rules: ListRules<Filter, Sort>,
  query: ListQuery<Filter, Sort>,
  { used, lead, sort }: Order<Filter>,
  reading: { columns: Record<string, PgColumn>; isPlaced: boolean; down: boolean },
) {
  const others = used.filter(name => name !== lead);
  return cursorQuery({
    ...reading,
    table: rules.table,
    where: and(sort.length > 0 ? inPeriod(rules.table, query) : undefined, ...conditionsOf(rules, others)),
    lead: lead && { column: rules.filters[lead] as PgColumn, value: lead },
    sort,
  });
}

/** The ids of a period on one side of an id. */
function rangeFrom({ above, below }: Range, id: string | undefined, down: boolean): Range {
  if (id === undefined) return { above, below };
  return down ? { above, below: id < below ? id : below } : { above: id > above ? id : above, below };
}

/** Where a page begins, and the parameter that says so. */
function startOf(
  list: string,
  { after, before }: Cursors,
  parts: number,
): { name: keyof Cursors; start: Place } {
  if (after !== undefined && before !== undefined) throw refusal('before', 'cannot be combined with "after"');
  const [name, cursor] = before === undefined ? (['after', after] as const) : (['before', before] as const);
  const start = cursor ? readCursor(list, cursor, parts) : [];
  if (start === undefined) throw wrongCursor(name);
  return { name, start };
}

const wrongCursor = (name: keyof Cursors) =>
  refusal(name, 'is not a cursor of this list with these filters and this sort');

/** A forged cursor may hold a value that its column cannot have, such as a word as a number. */
const isNoValue = (error: unknown) => databaseFailure(error)?.code.startsWith('22');
