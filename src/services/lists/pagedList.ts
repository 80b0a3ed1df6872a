import { getTableColumns } from '../../../drizzle/orm.ts';
import { need } from '../../access/need.ts';
import type { Context } from '../../core/context.ts';
import type { CursorPage, Page, Slice } from './pages.ts';
import { ListReader, type Parents } from './reader.ts';
import {
  type Criteria,
  type Cursors,
  type ListQuery,
  type ListRules,
  namesIn,
  wrongParameter,
} from './rules.ts';

type ByNumber = { [K in keyof Cursors]?: never };

export interface PagedList<T, F extends string, S extends string> {
  (context: Context, query: ListQuery<F, S> & ByNumber): Promise<Page<T>>;
  (context: Context, query: ListQuery<F, S>): Promise<Page<T> | CursorPage<T>>;
  /** A page for each parent, by number or at an end of the list. At most so many records of all of them together. */
  ofEach(
    context: Context,
    parents: Parents<F>,
    query: ListQuery<F, S>,
    most: number,
  ): Promise<Map<string, Slice<T>>>;
  totalOfEach(context: Context, parents: Parents<F>, criteria: Criteria<F>): Promise<Map<string, number>>;
}

/** A function that reads one page of a list: by cursor if the query has one, else by number, with the total. */
export function pagedList<T, F extends string, S extends string>(rules: ListRules<F, S>): PagedList<T, F, S> {
  type Query = ListQuery<F, S>;
  const reader = new ListReader<T, F, S>(rules);
  const columns = Object.entries(rules.columns ?? getTableColumns(rules.table));
  const withoutTimes = columns.filter(([, column]) => !column.getSQLType().startsWith('timestamp'));
  const timelessReader = new ListReader<T, F, S>({ ...rules, columns: Object.fromEntries(withoutTimes) });
  async function list(context: Context, query: Query): Promise<Page<T> | CursorPage<T>> {
    need(context, rules.scope);
    const [cursor] = namesIn(['after', 'before'], query);
    if (cursor === undefined) return reader.byNumber(context.db, query);
    if (query.page !== undefined) throw wrongParameter('page', `cannot be combined with "${cursor}"`);
    return reader.byCursor(context.db, query);
  }
  return Object.assign(list as PagedList<T, F, S>, {
    ofEach: async (context: Context, parents: Parents<F>, query: Query, most: number) => {
      need(context, rules.scope);
      return (query.timeless ? timelessReader : reader).ofEach(context.db, parents, query, most);
    },
    totalOfEach: async (context: Context, parents: Parents<F>, criteria: Criteria<F>) => {
      need(context, rules.scope);
      return reader.totalOfEach(context.db, parents, criteria);
    },
  });
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
