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
import { nullsOfSort, operatorOf, valueIn } from './criteria.ts';
import {
  choosing,
  countQuery,
  hasRange,
  joinComma,
  matching,
  nameOf,
  numberIn,
  parent,
  parents,
  rangeOfIds,
  rowsBy,
  tuple,
} from './rows.ts';
import { bookkeeping, type ListRules } from './rules.ts';
import { ids, isById, isMerged, ofSort, type PageReading, partsOf, positionColumns } from './selection.ts';

const { placeholder, raw } = sql;

export type Plan = ReturnType<typeof planPage>;

/** The statement of a page, and how its rows are read. */
export function planPage(rules: ListRules, reading: PageReading) {
  const columns = rowColumns(rules, reading);
  const position = positionColumns(rules, reading).map(column => columns.indexOf(column));
  const parent = columns.indexOf(rules.filters[reading.perParent ?? ''] as PgColumn);
  return {
    run: rowsOf(pageStatement(rules, reading), reading.isRare),
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
  if (reading.from !== 'number' && reading.way !== 'gathered') return recordQuery(rules, reading);
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

function recordQuery(rules: ListRules, reading: PageReading, { bound, skip, isPaid }: PageStart = {}): SQL {
  const { table } = rules;
  const { used, way, from, descending, hasPeriod, perParent, isRare } = reading;
  const position = positionColumns(rules, reading);
  const inOrderOfIds = position.length === 1;
  const inOrder = { ...reading, by: !inOrderOfIds ? ofSort : way === 'ordered' ? reading.by : ids };
  // PostgreSQL plans with a limit that it knows.
  const number = isRare ? (name: string) => sql`${placeholder(name)}::bigint` : numberIn(rules);
  const offset = from === 'number' ? (skip ?? number('$skip')) : undefined;
  const end = sql`limit ${number('limit')} ${offset && sql`offset ${offset}`}`;
  const beginning = sql`limit ${number('limit')} ${offset && sql`+ ${offset}`}`;
  const select = sql`select ${joinComma(rowColumns(rules, reading))}`;
  const direction = raw(descending ? 'desc' : 'asc');
  const last = descending && partsOf(rules, reading).length > 1 ? sql`nulls last` : undefined;
  const order = position.map((column, i) => sql`${column} ${direction} ${i === 0 ? last : undefined}`);
  const sorted = (rows: SQLWrapper, condition?: SQL) =>
    sql`${select} from ${rows} where ${and(isPaid, condition) ?? sql`true`} order by ${joinComma(order)} ${end}`;
  const named = (rows: SQL) => sql`(${rows}) as ${nameOf(rules)}`;

  const beyondPosition = from === 'position' && !inOrderOfIds ? beyond(position, descending) : undefined;
  const place = inOrderOfIds ? rangeOfIds(rules) : beyondPosition;
  if (bound) return sorted(table, and(bound, matching(rules, reading, used)));
  if (way === 'gathered')
    return sorted(
      named(sql`select * ${rowsBy(rules, reading)} offset 0`),
      and(place, choosing(rules, reading)),
    );
  const others = choosing(rules, inOrder);
  if (way === 'walked') {
    const next = sql`select * ${rowsBy(rules, inOrder, beyondPosition, descending)} limit ${number('$most')}`;
    return sorted(named(next), others);
  }
  if (inOrder.by !== ids && inOrderOfIds && isMerged(rules, used)) {
    const each = sql`select * ${rowsBy(rules, inOrder, undefined, descending, parent)} ${beginning}`;
    const values = sql`unnest(${valueIn(rules, used[0] as string)}) as parent(id)`;
    return sorted(sql`${values} cross join lateral ${named(each)}`);
  }
  // An index that is read backwards has the nulls first: those are read behind the others.
  if (last && perParent !== undefined) return sorted(table, and(beyondPosition, others));
  if (last) {
    const [column] = position as [SQLWrapper];
    const part = (isPart: SQL) =>
      sql`(select * ${rowsBy(rules, inOrder, and(others, isPart), true)} ${beginning})`;
    return sorted(named(sql`${part(isNotNull(column))} union all ${part(isNull(column))}`));
  }
  // Without the other bound: PostgreSQL expects few ids between two unknown ones, and would read them all.
  const next = sql`${table.id} ${raw(descending ? '<' : '>')} ${placeholder(descending ? '$below' : '$above')}`;
  const isNext = inOrderOfIds && !hasPeriod && !hasRange(rules, inOrder) ? next : beyondPosition;
  return sql`${select} ${rowsBy(rules, inOrder, and(isPaid, isNext, others), descending)} ${end}`;
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
function startQuery(rules: ListRules, reading: PageReading): PageStart & { start: SQL } {
  const { table } = rules;
  const { descending, way, used } = reading;
  const list = way === 'gathered' ? undefined : keptList(rules, reading);
  // Reads no records when more rows were counted than are paid for.
  const isPaid = sql`(select passed from start) < ${numberIn(rules)('$most')}`;
  if (list === undefined) return { start: sql`select ${countQuery(rules, reading)}`, isPaid };
  const position = (skip: SQLWrapper) => sql`list_position(${list}, ${skip}, ${raw(`${descending}`)})`;
  if (isById(rules, reading) && !isMerged(rules, used)) {
    const start = sql`select bound, remaining, total, 0 as passed from ${position(placeholder('$skip'))}`;
    const bound = sql`${table.id} ${raw(descending ? '<' : '>=')} (select bound from start)`;
    return { start, bound, skip: sql`(select remaining from start)` };
  }
  const lists = isMerged(rules, used)
    ? sql`unnest(${valueIn(rules, used[0] as string)}) as kept(value) cross join ${position(raw('0'))}`
    : position(raw('0'));
  const passed = sql`least(coalesce(sum(total), 0), ${placeholder('$skip')}::bigint)`;
  return { start: sql`select coalesce(sum(total), 0) as total, ${passed} as passed from ${lists}`, isPaid };
}

export const isKept = (rules: ListRules, page: Pick<PageReading, 'used' | 'hasPeriod'>) =>
  keptList(rules, page) !== undefined;

/** The name of a list whose total `list_watch` keeps, or of one of several lists; undefined for other lists. */
function keptList(
  { table, filters, counted }: ListRules,
  { used, hasPeriod }: Pick<PageReading, 'used' | 'hasPeriod'>,
): SQL | undefined {
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
