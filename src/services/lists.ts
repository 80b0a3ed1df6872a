import { and, asc, count, desc, getTableColumns, type SQL, type SQLWrapper, sql } from 'drizzle-orm';
import type { PgColumn, PgTable } from 'drizzle-orm/pg-core';
import type { Context } from '../core/context.ts';
import { type Orm, prepared } from '../core/database.ts';
import { type Page, type PageRequest, pageOf, skipped } from '../core/pages.ts';

interface ListRules<Filter extends string, Sort extends string> {
  table: PgTable & { id: PgColumn };
  /** What a record of the list shows; all columns when absent. */
  columns?: Record<string, PgColumn>;
  /** The condition of each filter, given the place of its value. */
  filters: Record<Filter, (value: SQLWrapper) => SQL>;
  /** The columns of each sort. The id always comes last: it is the order of creation and breaks every tie. */
  sorts: Record<Sort, SQLWrapper[]>;
}

type ListQuery<Filter extends string, Sort extends string> = PageRequest & { sort: Sort | `-${Sort}` } & {
  [K in Filter]?: string;
};

/**
 * A function that reads one page of a list and its total. Its statements are prepared once for each
 * combination of filters and sort; the values travel as parameters.
 */
export function listing<T, Filter extends string, Sort extends string>(
  name: string,
  { table, columns: shown = getTableColumns(table), filters, sorts }: ListRules<Filter, Sort>,
): (context: Context, query: ListQuery<Filter, Sort>) => Promise<Page<T>> {
  const where = (used: string) =>
    and(
      ...used
        .split(',')
        .filter(Boolean)
        .map(filter => filters[filter as Filter](sql.placeholder(filter))),
    );

  const totals = prepared(`${name} total`, (db: Orm, used: string) =>
    db.select({ total: count() }).from(table).where(where(used)),
  );
  const pages = prepared(`${name} page`, (db: Orm, shape: string) => {
    const [sort = '', used = ''] = shape.split('?');
    const direction = sort.startsWith('-') ? desc : asc;
    const columns = [...sorts[sort.replace('-', '') as Sort], table.id];
    return db
      .select(shown)
      .from(table)
      .where(where(used))
      .orderBy(...columns.map(column => direction(column)))
      .limit(sql.placeholder('limit'))
      .offset(sql.placeholder('skip'));
  });

  return async ({ db }, query) => {
    const used = Object.keys(filters)
      .filter(filter => query[filter as Filter] !== undefined)
      .join();
    const values = { ...query, skip: skipped(query) };
    const [[counted], data] = await Promise.all([
      totals(db, used).execute(values),
      pages(db, `${query.sort}?${used}`).execute(values),
    ]);
    return pageOf(data as T[], counted?.total ?? 0, query);
  };
}
