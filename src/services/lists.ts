import { and, getTableColumns, sql } from '../../drizzle/orm.ts';
import { need } from '../access/need.ts';
import type { Context } from '../core/context.ts';
import { type CursorPage, type Page, pageOf, skipped } from '../core/pages.ts';
import { coalesce } from '../database/coalesce.ts';
import type { Connection } from '../database/connection.ts';
import { owner, owners } from '../database/statements/cursorQuery.ts';
import { pageQuery, partName } from '../database/statements/pageQuery.ts';
import { builder, rowMapper, rowsOf, statement } from '../database/statements/statement.ts';
import { CursorReader } from './cursors.ts';
import {
  type Cursors,
  conditionsOf,
  inPeriod,
  type ListQuery,
  type ListRules,
  namesIn,
  periodOf,
  sortOf,
  wrongParameter,
} from './listRules.ts';

type ByNumber = { [K in keyof Cursors]?: never };

export interface PagedList<T, Filter extends string, Sort extends string> {
  (context: Context, query: ListQuery<Filter, Sort> & ByNumber): Promise<Page<T>>;
  (context: Context, query: ListQuery<Filter, Sort>): Promise<Page<T> | CursorPage<T>>;
  /**
   * For each of these values of a filter, the page at the beginning or the end of the list; one statement for all.
   * `most` bounds the records of all pages together.
   */
  ofEach(filter: Filter): ReadEach<T, ListQuery<Filter, Sort>>;
  /** The total for each of these values of a filter; one statement for all, so that none of them outlives its time. */
  totalOfEach(filter: Filter): CountEach<ListQuery<Filter, Sort>>;
}
export type CountEach<Query> = (
  context: Context,
  owners: string[],
  query: Query,
) => Promise<Map<string, number>>;
export type ReadEach<T, Query> = (
  context: Context,
  owners: string[],
  query: Query,
  most: number,
) => Promise<Map<string, CursorPage<T>>>;

/**
 * A function that reads one page of a list: by cursor if the query has one, else by number, with the total. It keeps a
 * statement for each combination of filters, sort and direction. Equal requests at the same time get one answer.
 */
export function pagedList<T, Filter extends string, Sort extends string>(
  rules: ListRules<Filter, Sort>,
): PagedList<T, Filter, Sort> {
  type Query = ListQuery<Filter, Sort>;
  const byNumber = numberReader<T, Filter, Sort>(rules);
  const byCursor = new CursorReader<T, Filter, Sort>(rules);
  const read = coalesce(async (db: Connection, query: Query) =>
    query.after === undefined && query.before === undefined ? byNumber(db, query) : byCursor.page(db, query),
  );
  async function list(context: Context, query: Query & ByNumber): Promise<Page<T>>;
  async function list(context: Context, query: Query): Promise<Page<T> | CursorPage<T>>;
  async function list(context: Context, query: Query): Promise<Page<T> | CursorPage<T>> {
    need(context, rules.scope);
    const [cursor] = namesIn(['after', 'before'], query);
    if (cursor && query.page !== undefined)
      throw wrongParameter('page', `cannot be combined with "${cursor}"`);
    return read(context.db, query);
  }
  const ofEach =
    (filter: Filter): ReadEach<T, Query> =>
    async (context, owners, query, most) => {
      need(context, rules.scope);
      return byCursor.ends(context.db, query, { filter, owners, most });
    };
  return Object.assign(list, { ofEach, totalOfEach: (filter: Filter) => eachCounter(rules, filter) });
}

function eachCounter<Filter extends string, Sort extends string>(
  rules: ListRules<Filter, Sort>,
  filter: Filter,
): CountEach<ListQuery<Filter, Sort>> {
  const { scope, table } = rules;
  const names = Object.keys(rules.filters) as Filter[];
  const valueFor = (name: string) => (name === filter ? owner : sql.placeholder(name));
  const build = (query: ListQuery<Filter, Sort>) => {
    const used = names.filter(name => name === filter || query[name] !== undefined);
    const where = and(inPeriod(table, query), ...conditionsOf(rules, used, valueFor));
    const total = sql<number>`${builder.$count(table, where)}::int`;
    return statement({ owner, total }, (builder, columns) => builder.select(columns).from(owners));
  };
  const statements = new Map<string, ReturnType<typeof build>>();
  return async (context, ids, query) => {
    need(context, scope);
    const key = namesIn([...names, 'createdSince', 'createdBefore'] as (keyof typeof query)[], query).join();
    const count = statements.get(key) ?? build(query);
    statements.set(key, count);
    const rows = await count(context.db, { ...query, ...periodOf(query), owners: ids.join() });
    return new Map(rows.map(({ owner, total }) => [owner, total]));
  };
}

type LogQuery<Filter extends string> = Omit<ListQuery<Filter, 'createdAt'>, 'sort' | 'page'>;

/** The same for a log: by cursor alone, the newest records first, and never counted. */
export function cursorLog<T, Filter extends string>(rules: Omit<ListRules<Filter, never>, 'sorts'>) {
  const reader = new CursorReader<T, Filter, 'createdAt'>({ ...rules, sorts: { createdAt: [] } });
  return async function list(context: Context, query: LogQuery<Filter>): Promise<CursorPage<T>> {
    need(context, rules.scope);
    return reader.page(context.db, { ...query, sort: '-createdAt' } as ListQuery<Filter, 'createdAt'>);
  };
}

/** A function that reads a page by number, and the total. */
function numberReader<T, Filter extends string, Sort extends string>(rules: ListRules<Filter, Sort>) {
  type Query = ListQuery<Filter, Sort>;
  const columns = rules.columns ?? getTableColumns(rules.table);
  const toRecord = rowMapper(columns);
  const names = Object.keys(rules.filters) as Filter[];
  const statements = new Map<string, ReturnType<typeof rowsOf>>();

  function statementFor(query: Query) {
    const used = namesIn(names, query);
    const key = `${query.sort} ${used} ${namesIn(['createdSince', 'createdBefore'], query)}`;
    const made = statements.get(key) ?? rowsOf(pageStatement(rules, query, used));
    statements.set(key, made);
    return made;
  }

  return async (db: Connection, query: Query): Promise<Page<T>> => {
    const rows = await statementFor(query)(db, { ...query, ...periodOf(query), skip: skipped(query) });
    // Past the end there is one row, with the total and no record.
    const records = rows.filter(([id]) => id !== null).map(toRecord);
    return pageOf(records as T[], Number(rows[0]?.at(-1)), query);
  };
}

function pageStatement<Filter extends string, Sort extends string>(
  rules: ListRules<Filter, Sort>,
  query: ListQuery<Filter, Sort>,
  used: Filter[],
) {
  const { table, columns = getTableColumns(table), sorts } = rules;
  const period = inPeriod(table, query);
  const { name, descending } = sortOf(query.sort);
  return pageQuery({
    table,
    columns,
    where: and(period, ...conditionsOf(rules, used)),
    part: period ? undefined : countedPart(rules, used),
    sort: sorts[name],
    backward: descending,
  });
}

/** The part of the table whose total is kept; undefined when the records are counted. */
function countedPart<Filter extends string>(
  { counted = [], filters }: Pick<ListRules<Filter, string>, 'counted' | 'filters'>,
  used: Filter[],
) {
  const [only, ...others] = used;
  if (only === undefined) return '';
  const column = filters[only];
  const isCounted = others.length === 0 && counted.includes(only) && typeof column !== 'function';
  return isCounted ? partName(column, sql.placeholder(only)) : undefined;
}
