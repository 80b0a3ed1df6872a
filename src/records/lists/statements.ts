import {
  and,
  Column,
  getTableColumns,
  getTableName,
  is,
  type PgColumn,
  type SQL,
  type SQLWrapper,
  sql,
} from '#drizzle/orm.ts';
import { rowMapper, rowsOf, unknownValue } from '#src/database/statements/statement.ts';
import { countQuery, otherFilters, rowsToCount } from './counts.ts';
import { bookkeeping, type Compared, type ListRules } from './rules.ts';
import {
  indexedFilter,
  indexedPart,
  inRange,
  isById,
  joinComma,
  matching,
  numberIn,
  type PageReading,
  parents,
  positionColumns,
  sortedBy,
} from './selection.ts';

const { placeholder, raw } = sql;

export type Plan = ReturnType<typeof planPage>;

/** The statement of a page, and how its rows are read. */
export function planPage(rules: ListRules, reading: PageReading) {
  const columns = rowColumns(rules, reading);
  const position = positionColumns(rules, reading).map(column => columns.indexOf(column));
  const parent = columns.indexOf(rules.filters[reading.perParent ?? ''] as PgColumn);
  return {
    run: rowsOf(pageStatement(rules, reading)),
    toRecord: rowMapper(recordColumns(rules, reading)),
    /** How many values a position has: those of the sort, and the id. */
    length: position.length,
    positionOf: (row: unknown[] | undefined) => (row ? position.map(index => String(row[index])) : []),
    parentOf: (row: unknown[]) => row[parent],
  };
}

/**
 * The statement of a page. Each row of a page by number ends in the total, of the same snapshot, and in how many rows
 * were counted for it. A page past the end is one row without a record.
 */
function pageStatement(rules: ListRules, reading: PageReading): SQL {
  if (reading.perParent !== undefined) {
    const page = recordQuery(rules, reading);
    return sql`select page.* from ${parents} cross join lateral (${page}) as page limit ${unknownValue('$most')}`;
  }
  if (reading.from !== 'number') return recordQuery(rules, reading);
  const { start, ...begin } = startQuery(rules, reading);
  const records = recordQuery(rules, reading, begin);
  // A plain join, because Citus refuses a lateral one with a distributed table.
  return sql`with start as (${start})
    select record.*, start.* from start left join (${records}) as record on true`;
}

/** The columns of a record, by member. */
function recordColumns({ table, columns = getTableColumns(table) }: ListRules, { brief }: PageReading) {
  if (!brief) return columns;
  return Object.fromEntries(Object.entries(columns).filter(([member]) => !bookkeeping.includes(member)));
}

/** The columns of a row: those of the record, and those of its position and its parent that are not among them. */
function rowColumns(rules: ListRules, reading: PageReading): SQLWrapper[] {
  const columns = Object.values(recordColumns(rules, reading));
  const parent = reading.perParent === undefined ? [] : [rules.filters[reading.perParent] as PgColumn];
  return [...new Set<SQLWrapper>([...columns, ...positionColumns(rules, reading), ...parent])];
}

/** Where a page by number begins: `skip` rows after `bound` or the list's start. A page is empty unless `isPaid`. */
interface PageStart {
  bound?: SQL;
  skip?: SQL;
  isPaid?: SQL;
}

function recordQuery(rules: ListRules, reading: PageReading, { bound, skip, isPaid }: PageStart = {}): SQL {
  const { table, filters } = rules;
  const { descending, from } = reading;
  const prefix = indexedFilter(rules, reading);
  const number = numberIn(rules);
  const order =
    prefix === undefined || bound ? sortedBy(rules, reading) : [indexedPart(filters[prefix] as Compared)];
  const direction = raw(descending ? 'desc' : 'asc');
  const offset = from === 'number' ? sql`offset ${skip ?? number('$skip')}` : undefined;
  const isChosen = !isById(rules, reading) || otherFilters(rules, reading).length > 0;
  const isSorted = reading.isFew && isChosen && keptList(rules, reading) === undefined;
  const rows = sql`(select * ${rowsToCount(rules, reading)} offset 0) as ${raw(`"${getTableName(table)}"`)}`;
  return sql`select ${joinComma(rowColumns(rules, reading))} from ${isSorted ? rows : table}
    where ${and(isPaid, bound ? and(bound, matching(rules, reading)) : inRange(rules, reading))}
    order by ${joinComma([...order, table.id].map(part => sql`${part} ${direction}`))}
    limit ${number('limit')} ${offset}`;
}

/**
 * The total, and where a page by number begins. For a list whose totals are kept, `list_position`
 * (drizzle/migrations/*_totals.sql) knows both. Any other list is counted, and the rows before the page are skipped.
 */
function startQuery(rules: ListRules, reading: PageReading): PageStart & { start: SQL } {
  const { table } = rules;
  const { descending } = reading;
  const list = keptList(rules, reading);
  // Reads no records when more rows were counted than are paid for.
  const isPaid = sql`(select passed from start) < ${numberIn(rules)('$most')}`;
  if (list === undefined) return { start: sql`select ${countQuery(rules, reading)}`, isPaid };
  const position = (skip: SQLWrapper) => sql`from list_position(${list}, ${skip}, ${raw(`${descending}`)})`;
  if (!isById(rules, reading)) {
    const start = sql`select total, least(total, ${placeholder('$skip')}::bigint) as passed ${position(raw('0'))}`;
    return { start, isPaid };
  }
  const start = sql`select bound, remaining, total, 0 as passed ${position(placeholder('$skip'))}`;
  const bound = sql`${table.id} ${raw(descending ? '<' : '>=')} (select bound from start)`;
  return { start, bound, skip: sql`(select remaining from start)` };
}

/** The name of a list whose total `list_watch` keeps; undefined for other lists. */
function keptList({ table, filters, counted }: ListRules, { used, hasPeriod }: PageReading): SQL | undefined {
  const [only, ...others] = used;
  if (counted === undefined || hasPeriod || others.length > 0) return undefined;
  const name = getTableName(table);
  if (only === undefined) return raw(`'${name}'`);
  const column = filters[only];
  if (!counted.includes(only) || !is(column, Column)) return undefined;
  // The cast spells the value as the database does in the names of lists.
  return sql`${raw(`'${name}.${column.name}='`)} || (${placeholder(only)}::${raw(column.getSQLType())})::text`;
}
