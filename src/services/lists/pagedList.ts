import { need } from '../../access/need.ts';
import type { Context } from '../../core/context.ts';
import type { CursorPage, Page, Slice } from './pages.ts';
import { ListReader } from './reader.ts';
import {
  type Criteria,
  type Cursors,
  hasPeriod,
  type ListQuery,
  type ListRules,
  namesIn,
  periodOf,
  wrongParameter,
} from './rules.ts';
import { totalsStatement } from './statements.ts';

type ByNumber = { [K in keyof Cursors]?: never };

/** Reads a page of each of several parents; at most so many records of all of them together. */
export type ReadEach<T, Query> = (
  context: Context,
  parents: string[],
  query: Query,
  most: number,
) => Promise<Map<string, Slice<T>>>;
export type CountEach<Query> = (
  context: Context,
  parents: string[],
  query: Query,
) => Promise<Map<string, number>>;

export interface PagedList<T, Filter extends string, Sort extends string> {
  (context: Context, query: ListQuery<Filter, Sort> & ByNumber): Promise<Page<T>>;
  (context: Context, query: ListQuery<Filter, Sort>): Promise<Page<T> | CursorPage<T>>;
  /** For each of these values of a filter, the page by number or at an end of the list; one statement for all. */
  ofEach(filter: Filter): ReadEach<T, ListQuery<Filter, Sort>>;
  /** The total for each of these values of a filter; one statement for all. */
  totalOfEach(filter: Filter): CountEach<Criteria<Filter>>;
}

/** A function that reads one page of a list: by cursor if the query has one, else by number, with the total. */
export function pagedList<T, Filter extends string, Sort extends string>(
  rules: ListRules<Filter, Sort>,
): PagedList<T, Filter, Sort> {
  type Query = ListQuery<Filter, Sort>;
  const reader = new ListReader<T, Filter, Sort>(rules);
  async function list(context: Context, query: Query & ByNumber): Promise<Page<T>>;
  async function list(context: Context, query: Query): Promise<Page<T> | CursorPage<T>>;
  async function list(context: Context, query: Query): Promise<Page<T> | CursorPage<T>> {
    need(context, rules.scope);
    const [cursor] = namesIn(['after', 'before'], query);
    if (cursor === undefined) return reader.byNumber(context.db, query);
    if (query.page !== undefined) throw wrongParameter('page', `cannot be combined with "${cursor}"`);
    return reader.byCursor(context.db, query);
  }
  const ofEach =
    (filter: Filter): ReadEach<T, Query> =>
    async (context, parents, query, most) => {
      need(context, rules.scope);
      return reader.ofEach(context.db, query, { filter, parents, most });
    };
  return Object.assign(list, { ofEach, totalOfEach: (filter: Filter) => totalOfEach(rules, filter) });
}

/** A function that counts the records for each of several values of a filter. */
export function totalOfEach<Filter extends string>(
  rules: Pick<ListRules<Filter, never>, 'scope' | 'table' | 'filters'>,
  filter: Filter,
): CountEach<Criteria<Filter>> {
  const statements = new Map<string, ReturnType<typeof totalsStatement>>();
  return async (context, parents, query) => {
    need(context, rules.scope);
    const names = Object.keys(rules.filters) as Filter[];
    const used = names.filter(name => name === filter || query[name] !== undefined);
    const selection = { used, hasPeriod: hasPeriod(query), perParent: filter };
    const key = JSON.stringify(selection);
    const count = statements.get(key) ?? totalsStatement({ rules, ...selection });
    statements.set(key, count);
    const rows = await count(context.db, { ...query, ...periodOf(query), parents: parents.join() });
    return new Map(rows.map(({ parent, total }) => [parent, total]));
  };
}

type LogQuery<Filter extends string> = Omit<ListQuery<Filter, 'createdAt'>, 'sort' | 'page'>;

/** A function that reads one page of a log: only by cursor, the newest records first, and never counted. */
export function cursorLog<T, Filter extends string>(rules: Omit<ListRules<Filter, never>, 'sorts'>) {
  const reader = new ListReader<T, Filter, 'createdAt'>({ ...rules, sorts: { createdAt: [] } });
  return async function list(context: Context, query: LogQuery<Filter>): Promise<CursorPage<T>> {
    need(context, rules.scope);
    return reader.byCursor(context.db, { ...query, sort: '-createdAt' } as ListQuery<Filter, 'createdAt'>);
  };
}
