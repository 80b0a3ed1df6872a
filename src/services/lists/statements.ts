import {
  and,
  Column,
  eq,
  getTableColumns,
  getTableName,
  is,
  isNotNull,
  type PgColumn,
  type SQL,
  type SQLWrapper,
  sql,
} from '../../../drizzle/orm.ts';
import { rowMapper, rowsOf, unknown } from '../../database/statements/statement.ts';
import { bookkeeping, type ListRules } from './rules.ts';

/** Which records a list has, without the values of its filters: in a statement they are placeholders of their names. */
export interface Selection {
  /** The filters that have a value. */
  used: string[];
  hasPeriod: boolean;
  /** The filter that has another value for each parent; undefined for one list. */
  perParent?: string | undefined;
  /** Of the filters with an index, which has the records of a value in the order of creation, the one with the fewest. */
  rarest: string | undefined;
}

/** How a page of a list is read. Each combination is one statement. */
export interface Reading extends Selection {
  sort: string;
  descending: boolean;
  /**
   * A page by number skips rows. One by cursor begins at a position, or at an end of the list if the cursor is empty.
   */
  from: 'number' | 'position' | 'end';
  brief?: boolean | undefined;
  /** Whether a list that is counted has so few rows that all are read, rather than those of another filter or order. */
  isFew?: boolean;
}

const { placeholder, raw } = sql;
const listOf = (parts: SQLWrapper[]) => sql.join(parts, sql`, `);
const tuple = (parts: SQLWrapper[]) => sql`(${listOf(parts)})`;

/** One of the ids of the placeholder `$parents`, in a statement for each of them. */
const parent = sql`parent.id`;
const parents = sql`unnest(string_to_array(${unknown('$parents', 'text')}, ',')::uuid[]) as parent(id)`;

/** Each parent with records: its id, its total, and how many rows were counted for that. */
export const totalsStatement = (rules: ListRules, selection: Selection) =>
  sql`select "$parent", ${countOf(rules, selection)} group by "$parent"`;

/**
 * Counts at most `$most` rows: those that the rarest filter selects, of which the others choose. A limit of those that
 * are chosen would let few of them pass all the others.
 */
function countOf(rules: ListRules, selection: Selection): SQL {
  const { table, filters } = rules;
  const { perParent } = selection;
  const others = othersOf(rules, selection);
  // At least one, for Citus. They have the same names in the rows as in the table.
  const columns = listOf([...new Set([table.id, ...others.map(name => filters[name] as PgColumn)])]);
  const name = raw(`"${getTableName(table)}"`);
  // With a limit, it reads the index in order.
  const rows = sql`select ${columns} ${passedBy(rules, selection)} limit ${numberIn(rules)('$most')}`;
  const ofParents = sql`select ${parent} as "$parent", ${name}.* from ${parents} cross join lateral (${rows}) as ${name}
    limit ${numberIn(rules)('$most')}`;
  const chosen = sql`filter (where ${matching(rules, { ...selection, used: others, hasPeriod: false })})`;
  return sql`count(*) ${others.length > 0 ? chosen : undefined} as total, count(*) as passed
    from (${perParent === undefined ? rows : ofParents}) as ${name}`;
}

/** The filters that choose of what the rarest one selects. */
const othersOf = ({ filters }: ListRules, { used, rarest }: Selection) =>
  used.filter(name => rarest !== undefined && name !== rarest && is(filters[name], Column));
const without = (names: string[], selection: Selection) => ({
  ...selection,
  used: selection.used.filter(name => !names.includes(name)),
});
/** What is counted, in the order of the index of the rarest filter: otherwise PostgreSQL might choose another one. */
function passedBy(rules: ListRules, selection: Selection): SQL {
  const passed = without(othersOf(rules, selection), selection);
  const range = rangeOf(rules, { ...passed, sort: 'createdAt', descending: false, from: 'number' });
  const { table, filters } = rules;
  const rarest = filters[selection.rarest ?? ''] as PgColumn | undefined;
  return sql`from ${table} where ${range} ${rarest && sql`order by ${rarest}, ${table.id}`}`;
}

/** Citus refuses an unknown limit of a table that is spread, and no totals of those are kept. */
const numberIn = ({ counted }: ListRules) => (counted === undefined ? placeholder : unknown);

export type Plan = ReturnType<typeof planOf>;

/** The statement of a page, and how its rows are read. */
export function planOf(rules: ListRules, reading: Reading) {
  const columns = columnsOf(rules, reading);
  const position = positionColumns(rules, reading).map(column => columns.indexOf(column));
  const parent = columns.indexOf(rules.filters[reading.perParent ?? ''] as PgColumn);
  return {
    run: rowsOf(pageStatement(rules, reading)),
    toRecord: rowMapper(recordColumnsOf(rules, reading)),
    /** How many values a position has: those of the sort, and the id. */
    length: position.length,
    positionOf: (row: unknown[] | undefined) => (row ? position.map(index => String(row[index])) : []),
    parentOf: (row: unknown[]) => row[parent],
  };
}

/**
 * A page. By number each row ends in the total, which is of the same snapshot, and in how many rows were counted for
 * it: past the end there is one row without a record.
 */
function pageStatement(rules: ListRules, reading: Reading): SQL {
  if (reading.perParent !== undefined) {
    const page = recordsOf(rules, reading);
    return sql`select page.* from ${parents} cross join lateral (${page}) as page limit ${unknown('$most')}`;
  }
  if (reading.from !== 'number') return recordsOf(rules, reading);
  const { start, ...begin } = startOf(rules, reading);
  const records = recordsOf(rules, reading, begin);
  // Not a lateral join: a distributed table cannot be in one.
  return sql`with start as (${start})
    select record.*, start.* from start left join (${records}) as record on true`;
}

/** The columns of a record, by member. */
function recordColumnsOf({ table, columns = getTableColumns(table) }: ListRules, { brief }: Reading) {
  if (!brief) return columns;
  return Object.fromEntries(Object.entries(columns).filter(([member]) => !bookkeeping.includes(member)));
}

/** The columns of a row: those of the record, and those of its position and its parent that are not among them. */
function columnsOf(rules: ListRules, reading: Reading): SQLWrapper[] {
  const columns = Object.values(recordColumnsOf(rules, reading));
  const parent = reading.perParent === undefined ? [] : [rules.filters[reading.perParent] as PgColumn];
  return [...new Set<SQLWrapper>([...columns, ...positionColumns(rules, reading), ...parent])];
}

/** The columns that place a record in the order of the list. */
const positionColumns = (rules: ListRules, reading: Reading) => [...sortedBy(rules, reading), rules.table.id];

/**
 * The columns of the sort. One that has the same value in all records orders nothing, and so a cursor needs no long
 * title.
 */
export const sortedBy = (
  { sorts = {}, filters }: ListRules,
  { sort, used }: Pick<Reading, 'sort' | 'used'>,
) => (sorts[sort] ?? []).filter(column => !used.some(filter => filters[filter] === column));

const isById = (rules: ListRules, reading: Pick<Reading, 'sort' | 'used'>) =>
  sortedBy(rules, reading).length === 0;

/** Where a page by number begins: so many rows after a bound, or after the first row of the list, if there is a page. */
interface Begin {
  bound?: SQL;
  skip?: SQL;
  isPaid?: SQL;
}

function recordsOf(rules: ListRules, reading: Reading, { bound, skip, isPaid }: Begin = {}): SQL {
  const { table, filters } = rules;
  const { descending, from } = reading;
  const prefix = prefixOf(rules, reading);
  const number = numberIn(rules);
  const order = prefix === undefined || bound ? sortedBy(rules, reading) : [filters[prefix] as PgColumn];
  const direction = raw(descending ? 'desc' : 'asc');
  const offset = from === 'number' ? sql`offset ${skip ?? number('$skip')}` : undefined;
  const isChosen = !isById(rules, reading) || othersOf(rules, reading).length > 0;
  const isSorted = reading.isFew && isChosen && keptList(rules, reading) === undefined;
  const rows = sql`(select * ${passedBy(rules, reading)} offset 0) as ${raw(`"${getTableName(table)}"`)}`;
  return sql`select ${listOf(columnsOf(rules, reading))} from ${isSorted ? rows : table}
    where ${and(isPaid, bound ? and(bound, matching(rules, reading)) : rangeOf(rules, reading))}
    order by ${listOf([...order, table.id].map(part => sql`${part} ${direction}`))}
    limit ${number('limit')} ${offset}`;
}

/**
 * The total, and where a page by number begins. For a list whose totals are kept, `list_position`
 * (drizzle/migrations/*_totals.sql) knows both. Any other list is counted, and the rows before the page are skipped.
 */
function startOf(rules: ListRules, reading: Reading): Begin & { start: SQL } {
  const { table } = rules;
  const { descending } = reading;
  const list = keptList(rules, reading);
  // No page of what is not paid for.
  const isPaid = sql`(select passed from start) < ${numberIn(rules)('$most')}`;
  if (list === undefined) return { start: sql`select ${countOf(rules, reading)}`, isPaid };
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
function keptList({ table, filters, counted }: ListRules, { used, hasPeriod }: Reading): SQL | undefined {
  const [only, ...others] = used;
  if (counted === undefined || hasPeriod || others.length > 0) return undefined;
  const name = getTableName(table);
  if (only === undefined) return raw(`'${name}'`);
  const column = filters[only];
  if (!counted.includes(only) || !is(column, Column)) return undefined;
  // The cast writes the value as the database does.
  return sql`${raw(`'${name}.${column.name}='`)} || (${placeholder(only)}::${raw(column.getSQLType())})::text`;
}

const placeholderOf = (filter: string, { perParent }: Selection): SQLWrapper =>
  filter === perParent ? parent : placeholder(filter);

/** What the filters select, and the period: a range of ids, because they begin with their time. */
function matching({ table: { id }, filters }: ListRules, selection: Selection): SQL {
  const period = sql`${id} > ${placeholder('$above')} and ${id} < ${placeholder('$below')}`;
  const conditions = selection.used.map(name => {
    const [filter, value] = [filters[name], placeholderOf(name, selection)];
    return is(filter, Column) ? eq(filter, value) : filter?.(value);
  });
  return and(selection.hasPeriod ? period : undefined, ...conditions) ?? sql`true`;
}

/** The filter whose index has the records in the order of the list. */
const prefixOf = (rules: ListRules, reading: Reading) =>
  isById(rules, reading) ? reading.rarest : undefined;

/**
 * What matches beyond the position. In the order of ids, the placeholders `$above` and `$below` say where that is.
 *
 * With a prefix, its column and the id are compared as a pair, and the order names both. With `column = $1 order by
 * id`, the plan that Postgres keeps for all values reads the primary key and drops what does not match: 150 ms for an
 * action that 3 of 600,000 entries have.
 */
function rangeOf(rules: ListRules, reading: Reading): SQL | undefined {
  const { descending, from, used } = reading;
  const { id } = rules.table;
  const prefix = prefixOf(rules, reading);
  if (!isById(rules, reading))
    return and(
      from === 'position' ? beyond(positionColumns(rules, reading), descending) : undefined,
      matching(rules, reading),
    );
  if (prefix === undefined) return matching(rules, { ...reading, hasPeriod: true });
  const column = rules.filters[prefix] as PgColumn;
  const bound = (name: string) => tuple([placeholderOf(prefix, reading), placeholder(name)]);
  return and(
    sql`${tuple([column, id])} > ${bound('$above')} and ${tuple([column, id])} < ${bound('$below')}`,
    // It follows from the range, but Postgres must read it to use an index without the nulls.
    isNotNull(column),
    matching(rules, { ...reading, used: used.filter(name => name !== prefix), hasPeriod: false }),
  );
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
