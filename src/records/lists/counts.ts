import {
  and,
  Column,
  getTableName,
  is,
  isNotNull,
  type PgColumn,
  type SQL,
  type SQLWrapper,
  sql,
} from '#drizzle/orm.ts';
import { filterOf } from '#schemas/parts/filters.ts';
import { valueIn } from './criteria.ts';
import type { ListRules } from './rules.ts';
import {
  ids,
  indexOf,
  joinComma,
  matching,
  numberIn,
  ofFilter,
  ofOthers,
  parent,
  parents,
  type Selection,
  tuple,
} from './selection.ts';

const { placeholder, raw } = sql;

/** Selects each parent that has records: its id, its total, and how many rows were counted for that. */
export const totalsStatement = (rules: ListRules, selection: Selection) =>
  sql`select "$parent", ${countQuery(rules, selection)} group by "$parent"`;

/** The name of the table, which a subquery has that stands for it. */
export const nameOf = ({ table }: ListRules) => raw(`"${getTableName(table)}"`);

/**
 * Reads at most `$most` rows in the index of `by`, and counts those that the other criteria match too. A limit on the
 * matches would not bound the rows that are read: a list with few matches would read all of them.
 */
export function countQuery(rules: ListRules, selection: Selection): SQL {
  const { table, filters } = rules;
  const compared = ofOthers(selection).map(each => filters[filterOf(each)]);
  // Citus needs at least one column. The rows get the names of the table and its columns, which the criteria use.
  const columns = compared.every(each => is(each, Column))
    ? joinComma([...new Set([table.id, ...(compared as PgColumn[])])])
    : sql`*`;
  const most = numberIn(rules)('$most');
  const rows = sql`select ${columns} ${rowsBy(rules, selection)} limit ${most}`;
  const ofParents = sql`select ${parent} as "$parent", ${nameOf(rules)}.* from ${parents}
    cross join lateral (${rows}) as ${nameOf(rules)} limit ${most}`;
  return sql`${counts(rules, selection)}
    from (${selection.perParent === undefined ? rows : ofParents}) as ${nameOf(rules)}`;
}

/** How many rows the criteria match, and how many there are. */
export function counts(rules: ListRules, selection: Selection): SQL {
  const chosen = chosenAmong(rules, selection);
  return sql`count(*) ${chosen && sql`filter (where ${chosen})`} as total, count(*) as passed`;
}

/** The condition that chooses among the rows of `by`; undefined if all of them match. */
export function chosenAmong(rules: ListRules, selection: Selection): SQL | undefined {
  const others = ofOthers(selection);
  const hasPeriod = selection.hasPeriod && !isRangeOfIds(rules, selection);
  return others.length > 0 || hasPeriod ? matching(rules, selection, others, hasPeriod) : undefined;
}

/** Whether the index of `by` has the rows of each value in the order of their ids, so that the period is a range. */
export function isRangeOfIds(rules: ListRules, selection: Selection): boolean {
  const { by } = selection;
  return by === ids || (indexOf(rules, by) !== undefined && `${ofFilter(selection, by)}` === by);
}

/**
 * The rows of `by`, in the order of its index. The order makes PostgreSQL use that index, whatever the values are.
 *
 * The column and the id are compared as a pair, and the order names both. For `column = $1 order by id`, the plan that
 * PostgreSQL keeps for all values reads the primary key and drops what does not match: 150 ms for an action that 3 of
 * 600,000 entries have.
 */
export function rowsBy(rules: ListRules, selection: Selection): SQL {
  const { table } = rules;
  const { by, perParent } = selection;
  const own = ofFilter(selection, by);
  const index = indexOf(rules, by);
  if (by === ids)
    return sql`from ${table} where ${matching(rules, selection, [], true)} order by ${table.id}`;
  // PostgreSQL finds the words of a search, and what a filter of the application selects, without an order.
  if (index === undefined) return sql`from ${table} where ${matching(rules, selection, own, false)}`;
  const order = sql`order by ${index}, ${table.id}`;
  const range = isRangeOfIds(rules, selection)
    ? pairs(rules, index, by === perParent ? parent : valueIn(rules, by))
    : matching(rules, selection, own, false);
  return sql`from ${table} where ${range} ${order}`;
}

/** The rows with this value in the index, from `$above` to `$below`: ids of the period, or the position of a page. */
export function pairs({ table: { id } }: ListRules, index: SQLWrapper, value: SQLWrapper): SQL | undefined {
  const bound = (name: string) => tuple([value, placeholder(name)]);
  return and(
    sql`${tuple([index, id])} > ${bound('$above')} and ${tuple([index, id])} < ${bound('$below')}`,
    // The range implies this, but PostgreSQL must read it to use an index without the nulls.
    isNotNull(index),
  );
}
