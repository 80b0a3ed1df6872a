import { need } from '../../access/need.ts';
import type { Context } from '../../core/context.ts';
import { coalesce } from '../../database/concurrency/coalesce.ts';
import type { Connection } from '../../database/connection.ts';
import { CursorReader } from './cursorReader.ts';
import { type CountEach, eachCounter } from './eachCounter.ts';
import { numberReader } from './numberReader.ts';
import type { CursorPage, Page } from './pages.ts';
import { type Cursors, type ListQuery, type ListRules, namesIn, wrongParameter } from './rules.ts';

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
