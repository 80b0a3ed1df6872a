import { and, getTableColumns, type PgColumn, type SQL, type SQLWrapper, sql } from '../../drizzle/orm.ts';
import type { Context } from '../core/context.ts';
import { type Page, type PageRequest, pageOf, skipped } from '../core/pages.ts';
import { coalesce } from '../database/coalesce.ts';
import type { Connection } from '../database/connection.ts';
import { pageQuery, partName } from '../database/statements/pageQuery.ts';
import type { RecordTable } from '../database/statements/recordsById.ts';
import { rowMapper, rowsOf } from '../database/statements/statement.ts';

interface ListRules<Filter extends string, Sort extends string> {
  table: RecordTable;
  /** All columns when absent. */
  columns?: Record<string, PgColumn>;
  /** The condition of each filter, given the placeholder of its value. */
  filters: Record<Filter, (value: SQLWrapper) => SQL>;
  /** The columns of those filters whose totals are kept. */
  counted?: Partial<Record<Filter, PgColumn>>;
  /** The columns of each sort. The id always comes last: it is the order of creation and breaks every tie. */
  sorts: Record<Sort, SQLWrapper[]>;
}

type ListQuery<Filter extends string, Sort extends string> = PageRequest & { sort: Sort | `-${Sort}` } & {
  [K in Filter]?: string;
};

/**
 * A function that reads one page of a list and its total, with a statement for each combination of filters and sort.
 * Equal requests at the same time get one answer.
 */
export function pagedList<T, Filter extends string, Sort extends string>(
  rules: ListRules<Filter, Sort>,
): (context: Context, query: ListQuery<Filter, Sort>) => Promise<Page<T>> {
  const columns = rules.columns ?? getTableColumns(rules.table);
  const toRecord = rowMapper(columns);
  const names = Object.keys(rules.filters) as Filter[];
  const statements = new Map<string, ReturnType<typeof rowsOf>>();

  function statementFor(query: ListQuery<Filter, Sort>) {
    const used = names.filter(name => query[name] !== undefined);
    const key = `${query.sort} ${used}`;
    const statement = statements.get(key) ?? rowsOf(pageStatement(rules, columns, used, query.sort));
    statements.set(key, statement);
    return statement;
  }

  const read = coalesce(async (db: Connection, query: ListQuery<Filter, Sort>) => {
    const rows = await statementFor(query)(db, { ...query, skip: skipped(query) });
    // Past the end there is one row, with the total and no record.
    const records = rows.filter(([id]) => id !== null).map(toRecord);
    return pageOf(records as T[], Number(rows[0]?.at(-1)), query);
  });
  return ({ db }, query) => read(db, query);
}

function pageStatement<Filter extends string, Sort extends string>(
  { table, filters, counted = {}, sorts }: ListRules<Filter, Sort>,
  columns: Record<string, PgColumn>,
  used: Filter[],
  sort: Sort | `-${Sort}`,
) {
  const [only, ...others] = used;
  const column = only && others.length === 0 ? counted[only] : undefined;
  return pageQuery({
    table,
    columns,
    where: and(...used.map(name => filters[name](sql.placeholder(name)))),
    part: only === undefined ? '' : column && partName(column, sql.placeholder(only)),
    sort: sorts[sort.replace('-', '') as Sort],
    backward: sort.startsWith('-'),
  });
}
