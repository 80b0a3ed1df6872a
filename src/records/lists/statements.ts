import {
  and,
  Column,
  getTableColumns,
  getTableName,
  is,
  isNotNull,
  isNull,
  type PgColumn,
  type SQL,
  type SQLWrapper,
  sql,
} from '#drizzle/orm.ts';
import { filterOf } from '#schemas/parts/filters.ts';
import { rowMapper, rowsOf, unknownValue } from '#src/database/statements/statement.ts';
import { chosenAmong, countQuery, counts, isRangeOfIds, nameOf, pairs, rowsBy } from './counts.ts';
import { nullsOfSort, operatorOf, valueIn } from './criteria.ts';
import { bookkeeping, type ListRules } from './rules.ts';
import {
  indexOf,
  isById,
  isMerged,
  joinComma,
  matching,
  numberIn,
  type PageReading,
  parent,
  parents,
  partsOf,
  positionColumns,
  tuple,
} from './selection.ts';

const { placeholder, raw } = sql;

export type Plan = ReturnType<typeof planPage>;

/** The statement of a page, and how its rows are read. */
export function planPage(rules: ListRules, reading: PageReading, isRare: boolean) {
  const columns = rowColumns(rules, reading);
  const position = positionColumns(rules, reading).map(column => columns.indexOf(column));
  const parent = columns.indexOf(rules.filters[reading.perParent ?? ''] as PgColumn);
  return {
    run: rowsOf(pageStatement(rules, reading), isRare),
    toRecord: rowMapper(recordColumns(rules, reading)),
    /** How many values a position has: those of the sort, and the id. */
    length: position.length,
    /** A position without a value of the sort is that of a record where it is null. */
    positionOf: (row: unknown[] | undefined) =>
      row ? position.flatMap(index => (row[index] === null ? [] : String(row[index]))) : [],
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
  if (reading.from !== 'number' && reading.way !== 'few') return recordQuery(rules, reading);
  const { start, few, ...begin } = startQuery(rules, reading);
  const records = recordQuery(rules, reading, begin);
  // A plain join, because Citus refuses a lateral one with a distributed table.
  return sql`with ${few} start as (${start})
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
  // Both parts of a list have the same columns.
  const used = reading.used.filter(each => each !== nullsOfSort);
  return [...new Set<SQLWrapper>([...columns, ...positionColumns(rules, { ...reading, used }), ...parent])];
}

/** Where a page by number begins: `skip` rows after `bound` or the list's start. A page is empty unless `isPaid`. */
interface PageStart {
  bound?: SQL;
  skip?: SQL;
  isPaid?: SQL;
}

function recordQuery(rules: ListRules, reading: PageReading, start: PageStart = {}): SQL {
  const { descending, from, way } = reading;
  // PostgreSQL plans with a limit that it knows.
  const number = way === 'planned' ? (name: string) => sql`${placeholder(name)}::bigint` : numberIn(rules);
  const limit = number('limit');
  const skip = from === 'number' ? (start.skip ?? number('$skip')) : undefined;
  const direction = raw(descending ? 'desc' : 'asc');
  const { source, where, order } = rowsToRead(
    rules,
    reading,
    start.bound,
    skip ? sql`${limit} + ${skip}` : limit,
  );
  const [first] = order;
  const isSplit = partsOf(rules, reading).length > 1;
  const ordered = order.map(
    part => sql`${part} ${direction} ${isSplit && part === first ? sql`nulls last` : undefined}`,
  );
  return sql`select ${joinComma(rowColumns(rules, reading))} from ${source} where ${and(start.isPaid, where) ?? sql`true`}
    order by ${joinComma(ordered)} limit ${limit} ${skip && sql`offset ${skip}`}`;
}

interface Rows {
  source: SQLWrapper;
  where?: SQL | undefined;
  order: SQLWrapper[];
}

/** Where the rows of a page come from, the condition of those that match beyond its position, and their order. */
function rowsToRead(rules: ListRules, reading: PageReading, bound: SQL | undefined, most: SQLWrapper): Rows {
  const { table } = rules;
  const { used, by, way, from, descending, hasPeriod, perParent } = reading;
  const order = positionColumns(rules, reading);
  const inOrderOfIds = isById(rules, reading);
  const position = from === 'position' && !inOrderOfIds ? beyond(order, descending) : undefined;
  if (bound) return { source: table, where: and(bound, matching(rules, reading, used, false)), order };
  if (way === 'few' || way === 'all') {
    const rows = way === 'few' ? sql`few` : sql`(select * ${rowsBy(rules, reading)} offset 0)`;
    const range = inOrderOfIds ? matching(rules, reading, [], true) : position;
    return {
      source: sql`${rows} as ${nameOf(rules)}`,
      where: and(range, chosenAmong(rules, reading)),
      order,
    };
  }
  const index = indexOf(rules, by);
  if (way === 'ordered' && inOrderOfIds && index) {
    if (isMerged(rules, used)) return { source: mergedRows(rules, reading, index, most), order };
    const isRange = isRangeOfIds(rules, reading);
    const value = by === perParent ? parent : valueIn(rules, by);
    const where = isRange
      ? and(pairs(rules, index, value), chosenAmong(rules, reading))
      : matching(rules, reading, used, true);
    return { source: table, where, order: [index, table.id] };
  }
  const where = and(position, matching(rules, reading, used, inOrderOfIds || hasPeriod));
  if (partsOf(rules, reading).length < 2 || !descending || perParent !== undefined)
    return { source: table, where, order };
  // An index read backwards has the nulls first, so the records without a value are read behind the others.
  const [column] = order as [SQLWrapper];
  const part = (condition: SQL) =>
    sql`(select * from ${table} where ${and(where, condition)} order by ${column} desc, ${table.id} desc limit ${most})`;
  const source = sql`(${part(isNotNull(column))} union all ${part(isNull(column))}) as ${nameOf(rules)}`;
  return { source, order };
}

/** The first rows of each value of a filter. */
function mergedRows(
  rules: ListRules,
  { used, descending }: PageReading,
  index: SQLWrapper,
  most: SQLWrapper,
): SQL {
  const { table } = rules;
  const direction = raw(descending ? 'desc' : 'asc');
  const rows = sql`select * from ${table} where ${pairs(rules, index, parent)}
    order by ${index} ${direction}, ${table.id} ${direction} limit ${most}`;
  return sql`unnest(${valueIn(rules, used[0] as string)}) as parent(id) cross join lateral (${rows}) as ${nameOf(rules)}`;
}

/** The placeholder of a value of the position. */
export const positionValue = (index: number) => `$${index}`;

function beyond(position: SQLWrapper[], descending: boolean): SQL {
  const values = position.map((part, index) => {
    const value = placeholder(positionValue(index));
    return is(part, Column) ? sql`${value}::text::${raw(part.getSQLType())}` : value;
  });
  return sql`${tuple(position)} ${raw(descending ? '<' : '>')} ${tuple(values)}`;
}

/**
 * The total, and where a page by number begins. For a list whose totals are kept, `list_position`
 * (drizzle/migrations/*_lists.sql) knows both. Any other list is counted, and the rows before the page are skipped.
 */
function startQuery(rules: ListRules, reading: PageReading): PageStart & { start: SQL; few?: SQL } {
  const { table } = rules;
  const { descending, from, way, used } = reading;
  const most = numberIn(rules)('$most');
  // Reads no records when more rows were counted than are paid for.
  const isPaid = sql`(select passed from start) < ${most}`;
  if (way === 'few') {
    const few = sql`few as materialized (select * ${rowsBy(rules, reading)} limit ${most}),`;
    const counted = from === 'number' ? counts(rules, reading) : sql`count(*) as passed`;
    return { few, start: sql`select ${counted} from few as ${nameOf(rules)}`, isPaid };
  }
  const list = keptList(rules, reading);
  if (list === undefined) return { start: sql`select ${countQuery(rules, reading)}`, isPaid };
  const position = (skip: SQLWrapper) => sql`list_position(${list}, ${skip}, ${raw(`${descending}`)})`;
  const passed = (total: SQL) =>
    sql`select ${total} as total, least(${total}, ${placeholder('$skip')}::bigint) as passed`;
  if (isMerged(rules, used)) {
    const kept = sql`unnest(${valueIn(rules, used[0] as string)}) as kept(value) cross join ${position(raw('0'))}`;
    return { start: sql`${passed(sql`coalesce(sum(total), 0)`)} from ${kept}`, isPaid };
  }
  if (!isById(rules, reading))
    return { start: sql`${passed(sql`total`)} from ${position(raw('0'))}`, isPaid };
  const start = sql`select bound, remaining, total, 0 as passed from ${position(placeholder('$skip'))}`;
  const bound = sql`${table.id} ${raw(descending ? '<' : '>=')} (select bound from start)`;
  return { start, bound, skip: sql`(select remaining from start)` };
}

export const isKept = (rules: ListRules, page: PageReading) => keptList(rules, page) !== undefined;

/** The name of a list whose total `list_watch` keeps, or of one of several lists; undefined for other lists. */
function keptList({ table, filters, counted }: ListRules, { used, hasPeriod }: PageReading): SQL | undefined {
  const [only, ...others] = used;
  if (counted === undefined || hasPeriod || others.length > 0) return undefined;
  const name = getTableName(table);
  if (only === undefined) return raw(`'${name}'`);
  const column = filters[filterOf(only)];
  if (!counted.includes(filterOf(only)) || !is(column, Column) || !/^(is|in)$/.test(operatorOf(only)))
    return undefined;
  // The cast spells the value as the database does in the names of lists.
  const value =
    operatorOf(only) === 'in' ? sql`kept.value` : sql`${placeholder(only)}::${raw(column.getSQLType())}`;
  return sql`${raw(`'${name}.${column.name}='`)} || (${value})::text`;
}
