import { Column, getTableName, is, type PgColumn, type SQL, type SQLWrapper, sql } from '#drizzle/orm.ts';
import type { Criterion } from './criteria.ts';
import { choosing, joinComma, nameOf, numberIn, parent, parents, rowsBy, valueIn } from './rows.ts';
import { indexOf, isMerged, positionColumns, type Reading, type Selection } from './selection.ts';

const { placeholder, raw } = sql;

/**
 * Reads at most `$most` rows in the index of `by`, and counts those that the other criteria match too. A limit on the
 * matches would not bound the rows that are read: a list with few matches would read all of them.
 */
export function countQuery(reading: Reading): SQL {
  const { rules, criteria, by, perParent } = reading;
  const compared = criteria.filter(({ filter }) => filter !== by).map(each => indexOf(reading, each.filter));
  // Citus needs at least one column. The rows get the names of the table and its columns, which the criteria use.
  const columns = compared.every(each => is(each, Column))
    ? joinComma([...new Set([rules.table.id, ...(compared as PgColumn[])])])
    : sql`*`;
  const most = numberIn(reading)('$most');
  const rows = sql`select ${columns} ${rowsBy({ ...reading, descending: false })} limit ${most}`;
  const name = nameOf(reading);
  const ofParents = sql`select ${parent} as "$parent", ${name}.* from ${parents}
    cross join lateral (${rows}) as ${name} limit ${most}`;
  const chosen = choosing(reading);
  return sql`count(*) ${chosen && sql`filter (where ${chosen})`} as total, count(*) as passed
    from (${perParent === undefined ? rows : ofParents}) as ${name}`;
}

/** Where a page by number begins: `skip` rows after `bound` or the list's start. A page is empty unless `isPaid`. */
export interface PageStart {
  bound?: SQL;
  skip?: SQL;
  isPaid?: SQL;
}

/**
 * The total, and where a page by number begins. For a list whose totals are kept, `list_position`
 * (drizzle/migrations/*_lists.sql) knows both. Any other list is counted, and the rows before the page are skipped.
 */
export function startQuery(reading: Reading): PageStart & { start: SQL } {
  const { rules, descending, way } = reading;
  const list = way === 'gathered' ? undefined : keptList(reading);
  // Reads no records when more rows were counted than are paid for.
  const isPaid = sql`(select passed from start) < ${numberIn(reading)('$most')}`;
  // The total is that of the whole list, also where a page begins at a position.
  if (list === undefined) return { start: sql`select ${countQuery({ ...reading, from: 'number' })}`, isPaid };
  const position = (skip: SQLWrapper) => sql`list_position(${list}, ${skip}, ${raw(`${descending}`)})`;
  if (positionColumns(reading).length === 1 && !isMerged(reading)) {
    const start = sql`select bound, remaining, total, 0 as passed from ${position(placeholder('$skip'))}`;
    const bound = sql`${rules.table.id} ${raw(descending ? '<' : '>=')} (select bound from start)`;
    return { start, bound, skip: sql`(select remaining from start)` };
  }
  const each = isMerged(reading) ? sql`${valuesIn(reading)} cross join ` : undefined;
  const passed = sql`least(coalesce(sum(total), 0), ${placeholder('$skip')}::bigint)`;
  const start = sql`select coalesce(sum(total), 0) as total, ${passed} as passed from ${each}${position(raw('0'))}`;
  return { start, isPaid };
}

/** The values of a merged list, read as if they were parents. */
export const valuesIn = (selection: Selection) =>
  sql`unnest(${valueIn(selection, selection.criteria[0] as Criterion)}) as parent(id)`;

export const isKept = (selection: Selection) => keptList(selection) !== undefined;

/** The name of a list whose total `list_watch` keeps, or of that of each value; undefined for other lists. */
function keptList(selection: Selection): SQL | undefined {
  const { rules, criteria, hasPeriod } = selection;
  const [only, ...others] = criteria;
  if (rules.counted === undefined || hasPeriod || others.length > 0) return undefined;
  const table = getTableName(rules.table);
  if (only === undefined) return raw(`'${table}'`);
  const column = rules.filters[only.filter];
  const isOfValues = only.operator === 'is' || isMerged(selection);
  if (!isOfValues || !rules.counted.includes(only.filter) || !is(column, Column)) return undefined;
  // The cast spells the value as the database does in the names of lists.
  const value = isMerged(selection) ? parent : sql`${placeholder(only.name)}::${raw(column.getSQLType())}`;
  return sql`${raw(`'${table}.${column.name}='`)} || (${value})::text`;
}
