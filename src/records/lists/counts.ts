import { Column, getTableName, is, type PgColumn, type SQL, sql } from '#drizzle/orm.ts';
import type { ListRules } from './rules.ts';
import {
  indexedPart,
  inRange,
  joinComma,
  matching,
  numberIn,
  parent,
  parents,
  type Selection,
} from './selection.ts';

const { raw } = sql;

/** Selects each parent that has records: its id, its total, and how many rows were counted for that. */
export const totalsStatement = (rules: ListRules, selection: Selection) =>
  sql`select "$parent", ${countQuery(rules, selection)} group by "$parent"`;

/**
 * Reads at most `$most` rows that the rarest filter selects, and counts those that the other filters match too. A limit
 * on the matches would not bound the rows that are read: a list with few matches would read all of them.
 */
export function countQuery(rules: ListRules, selection: Selection): SQL {
  const { table, filters } = rules;
  const { perParent } = selection;
  const others = otherFilters(rules, selection);
  // Citus needs at least one column. The rows get the names of the table and its columns, which the filters use.
  const columns = joinComma([...new Set([table.id, ...others.map(name => filters[name] as PgColumn)])]);
  const name = raw(`"${getTableName(table)}"`);
  // The limit makes PostgreSQL read the index in order.
  const rows = sql`select ${columns} ${rowsToCount(rules, selection)} limit ${numberIn(rules)('$most')}`;
  const ofParents = sql`select ${parent} as "$parent", ${name}.* from ${parents} cross join lateral (${rows}) as ${name}
    limit ${numberIn(rules)('$most')}`;
  const chosen = sql`filter (where ${matching(rules, { ...selection, used: others, hasPeriod: false })})`;
  return sql`count(*) ${others.length > 0 ? chosen : undefined} as total, count(*) as passed
    from (${perParent === undefined ? rows : ofParents}) as ${name}`;
}

/** The filters that narrow what the rarest one selects. */
export const otherFilters = ({ filters }: ListRules, { used, rarest }: Selection) =>
  used.filter(name => rarest !== undefined && name !== rarest && is(filters[name], Column));

/** The rows to count, in the order of the index of the rarest filter: it keeps PostgreSQL from choosing another one. */
export function rowsToCount(rules: ListRules, selection: Selection): SQL {
  const others = otherFilters(rules, selection);
  const used = selection.used.filter(name => !others.includes(name));
  const range = inRange(rules, { ...selection, used, sort: 'createdAt', descending: false, from: 'number' });
  const { table, filters } = rules;
  const rarest = filters[selection.rarest ?? ''];
  return sql`from ${table} where ${range} ${rarest && sql`order by ${indexedPart(rarest)}, ${table.id}`}`;
}
