import { and, getTableColumns, type SQL, type SQLWrapper, sql } from 'drizzle-orm';
import type { PgColumn } from 'drizzle-orm/pg-core';
import type { Context } from '../core/context.ts';
import { type Page, type PageRequest, pageOf, skipped } from '../core/pages.ts';
import { shared } from '../database/batch.ts';
import { type Orm, prepared } from '../database/database.ts';
import { type Listed, partOf, selectPage } from '../database/pageQuery.ts';

interface ListRules<Filter extends string, Sort extends string> {
  table: Listed;
  /** What a record of the list shows; all columns when absent. */
  columns?: Record<string, PgColumn>;
  /** The condition of each filter, given the place of its value. */
  filters: Record<Filter, (value: SQLWrapper) => SQL>;
  /** The filters whose parts of the table are counted, and the column of each. */
  counted?: Partial<Record<Filter, PgColumn>>;
  /** The columns of each sort. The id always comes last: it is the order of creation and breaks every tie. */
  sorts: Record<Sort, SQLWrapper[]>;
}

type ListQuery<Filter extends string, Sort extends string> = PageRequest & { sort: Sort | `-${Sort}` } & {
  [K in Filter]?: string;
};

/**
 * A function that reads one page of a list and its total. Its statement is prepared once for each
 * combination of filters and sort; the values travel as parameters.
 */
export function listing<T, Filter extends string, Sort extends string>(
  name: string,
  { table, columns, filters, counted = {}, sorts }: ListRules<Filter, Sort>,
): (context: Context, query: ListQuery<Filter, Sort>) => Promise<Page<T>> {
  const known = Object.keys(filters) as Filter[];
  const partly = (used: Filter[]) => {
    const column = used.length === 1 && counted[used[0] as Filter];
    return column ? partOf(column, sql.placeholder(used[0] as Filter)) : used.length === 0 ? '' : undefined;
  };

  const pages = prepared(`${name} page`, (db: Orm, shape: string) => {
    const [sort = '', filter = ''] = shape.split('?');
    const used = filter.split(',').filter(Boolean) as Filter[];
    return selectPage(db, {
      table,
      columns: columns ?? getTableColumns(table),
      where: and(...used.map(name => filters[name](sql.placeholder(name)))),
      part: partly(used),
      sort: sorts[sort.replace('-', '') as Sort],
      backward: sort.startsWith('-'),
    });
  });

  async function read(db: Orm, query: ListQuery<Filter, Sort>): Promise<Page<T>> {
    const used = known.filter(filter => query[filter] !== undefined);
    const rows = await pages(db, `${query.sort}?${used}`).execute({ ...query, skip: skipped(query) });
    const data = rows.map(({ record }) => record).filter(record => record !== null);
    return pageOf(data as T[], rows[0]?.total ?? 0, query);
  }

  // A front page is asked for by many at once.
  const readShared = shared(
    'lists',
    async (db, queries: ListQuery<Filter, Sort>[]) => {
      const page = await read(db, queries[0] as ListQuery<Filter, Sort>);
      return queries.map(() => page);
    },
    { sent: 1, question: JSON.stringify },
  );
  return ({ db }, query) => readShared(db, query);
}
