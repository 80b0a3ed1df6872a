import { and, getTableColumns, getTableName, sql } from '../../../drizzle/orm.ts';
import type { Connection } from '../../database/connection.ts';
import { pageQuery, partName } from '../../database/statements/pageQuery.ts';
import { rowMapper, rowsOf } from '../../database/statements/statement.ts';
import { type Page, pageOf, skipped } from './pages.ts';
import {
  conditionsOf,
  inPeriod,
  type ListQuery,
  type ListRules,
  namesIn,
  periodOf,
  sortOf,
} from './rules.ts';

/** A function that reads a page by number, and the total. */
export function numberReader<T, Filter extends string, Sort extends string>(rules: ListRules<Filter, Sort>) {
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

/** The name of the list whose total is kept; undefined when the records are counted. */
function countedPart<Filter extends string>(
  { table, counted = [], filters }: Pick<ListRules<Filter, string>, 'table' | 'counted' | 'filters'>,
  used: Filter[],
) {
  if (counted === false) return undefined;
  const [only, ...others] = used;
  if (only === undefined) return getTableName(table);
  const column = filters[only];
  const isCounted = others.length === 0 && counted.includes(only) && typeof column !== 'function';
  return isCounted ? partName(column, sql.placeholder(only)) : undefined;
}
