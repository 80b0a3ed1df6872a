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
import { unknownValue } from '#src/database/statements/statement.ts';
import { type Criterion, conditionOf, valueIn } from './criteria.ts';
import type { ListRules } from './rules.ts';
import { ids, indexOf, type Selection } from './selection.ts';

const { placeholder, raw } = sql;
export const joinComma = (parts: SQLWrapper[]) => sql.join(parts, sql`, `);
export const tuple = (parts: SQLWrapper[]) => sql`(${joinComma(parts)})`;

/** The name of the table, which a subquery has that stands for it. */
export const nameOf = ({ table }: ListRules) => raw(`"${getTableName(table)}"`);

/** The id of one parent, in a statement that reads a list for each id in the placeholder `$parents`. */
export const parent = sql`parent.id`;
export const parents = sql`unnest(string_to_array(${unknownValue('$parents', 'text')}, ',')::uuid[]) as parent(id)`;

/** Citus refuses a limit unknown to the planner on a table that it has spread. Such tables have no kept totals. */
export const numberIn = ({ counted }: ListRules) => (counted === undefined ? placeholder : unknownValue);

/** The condition of these criteria. */
export const matching = (rules: ListRules, { perParent }: Selection, used: Criterion[]): SQL | undefined =>
  and(...used.map(each => conditionOf(rules, each, each === perParent ? parent : undefined)));

/** The period, or the position of a page in the order of ids: a range, because ids begin with their time. */
export const rangeOfIds = ({ table: { id } }: ListRules) =>
  sql`${id} > ${placeholder('$above')} and ${id} < ${placeholder('$below')}`;

/** The criteria that choose among the rows of `by`, and the period if the index of `by` does not have it. */
export const choosing = (rules: ListRules, selection: Selection): SQL | undefined =>
  and(
    matching(
      rules,
      selection,
      selection.used.filter(each => filterOf(each) !== selection.by),
    ),
    selection.hasPeriod && !hasRange(rules, selection) ? rangeOfIds(rules) : undefined,
  );

/** Whether the index of `by` has the rows in the order of their ids: for one value, or for each of several. */
export const hasRange = (rules: ListRules, { used, by }: Selection) =>
  by === ids || (indexOf(rules, by) !== undefined && `${used.filter(each => filterOf(each) === by)}` === by);

/**
 * The rows of `by` that meet another condition, in the order of its index: this order makes PostgreSQL use the index,
 * whatever the values are. The order can be reversed, and `by` can have the value of each parent, or each of several.
 *
 * The column and the id are compared as a pair, and the order names both. For `column = $1 order by id`, the plan that
 * PostgreSQL keeps for all values reads the primary key and drops what does not match: 150 ms for an action that 3 of
 * 600,000 entries have.
 */
export function rowsBy(
  rules: ListRules,
  selection: Selection,
  condition?: SQL,
  descending = false,
  value?: SQLWrapper,
): SQL {
  const { table } = rules;
  const { used, by, perParent } = selection;
  const own = used.filter(each => filterOf(each) === by);
  const index = by === ids ? table.id : indexOf(rules, by);
  const bound = (name: string, of: SQLWrapper) => tuple([of, placeholder(name)]);
  let where = matching(rules, selection, own);
  if (by === ids) where = rangeOfIds(rules);
  else if (index && (value || hasRange(rules, selection))) {
    const pair = tuple([index, table.id]);
    const one = value ?? (by === perParent ? parent : valueIn(rules, by));
    // The range implies that it is not null, but PostgreSQL must read it to use an index without the nulls.
    where = and(
      sql`${pair} > ${bound('$above', one)} and ${pair} < ${bound('$below', one)}`,
      isNotNull(index),
    );
  }
  const direction = raw(descending ? 'desc' : 'asc');
  const order = index && joinComma([...new Set([index, table.id])].map(each => sql`${each} ${direction}`));
  // PostgreSQL finds the words of a search, and what a filter of the application selects, without an order.
  return sql`from ${table} where ${and(where, condition) ?? sql`true`} ${order && sql`order by ${order}`}`;
}

/** Selects each parent that has records: its id, its total, and how many rows were counted for that. */
export const totalsStatement = (rules: ListRules, selection: Selection) =>
  sql`select "$parent", ${countQuery(rules, selection)} group by "$parent"`;

/**
 * Reads at most `$most` rows in the index of `by`, and counts those that the other criteria match too. A limit on the
 * matches would not bound the rows that are read: a list with few matches would read all of them.
 */
export function countQuery(rules: ListRules, selection: Selection): SQL {
  const { table, filters } = rules;
  const compared = selection.used
    .map(filterOf)
    .filter(each => each !== selection.by)
    .map(each => filters[each]);
  // Citus needs at least one column. The rows get the names of the table and its columns, which the criteria use.
  const columns = compared.every(each => is(each, Column))
    ? joinComma([...new Set([table.id, ...(compared as PgColumn[])])])
    : sql`*`;
  const most = numberIn(rules)('$most');
  const rows = sql`select ${columns} ${rowsBy(rules, selection)} limit ${most}`;
  const ofParents = sql`select ${parent} as "$parent", ${nameOf(rules)}.* from ${parents}
    cross join lateral (${rows}) as ${nameOf(rules)} limit ${most}`;
  const chosen = choosing(rules, selection);
  return sql`count(*) ${chosen && sql`filter (where ${chosen})`} as total, count(*) as passed
    from (${selection.perParent === undefined ? rows : ofParents}) as ${nameOf(rules)}`;
}
