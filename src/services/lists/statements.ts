import {
  and,
  asc,
  Column,
  count,
  desc,
  eq,
  getTableColumns,
  getTableName,
  is,
  isNotNull,
  type PgColumn,
  type PgTable,
  type SQL,
  type SQLWrapper,
  sql,
} from '../../../drizzle/orm.ts';
import { builder, statement } from '../../database/statements/statement.ts';
import type { ListRules } from './rules.ts';

/** Which records a list has. The values of its filters are placeholders of their names. */
export interface Selection<Filter extends string> {
  rules: Pick<ListRules<Filter, never>, 'table' | 'columns' | 'filters' | 'counted'>;
  /** The filters that have a value. */
  used: Filter[];
  hasPeriod: boolean;
  /** The filter that has another value for each parent; undefined for one list. */
  perParent?: Filter | undefined;
}

/** How a page of a list is read. Each combination is one statement. */
export interface Reading<Filter extends string> extends Selection<Filter> {
  /** The filter whose index has the records of a value in the order of creation. */
  prefix: Filter | undefined;
  /** What the list is sorted by before the id. With a prefix there is nothing. */
  sort: SQLWrapper[];
  descending: boolean;
  /** A page by number skips rows. One by cursor begins at a position, or at an end of the list if the cursor is empty. */
  from: 'number' | 'position' | 'end';
}

const { placeholder, raw } = sql;

/** The placeholders of a statement besides those of its filters, which need other names. */
export const ownPlaceholders = ['above', 'below', 'skip', 'most', 'parents'];

type Placeholder = ReturnType<typeof placeholder>;

/**
 * A value that the planner does not know. For few parents or a low limit it would take another plan for cheaper than the one
 * that it keeps, and plan each execution of a statement anew, which takes as long as reading 200 posts.
 */
const unknown = (name: string, type = 'int') =>
  sql`(select ${placeholder(name)}::${raw(type)})` as unknown as Placeholder;

/** One of the ids of the placeholder `parents`, in a statement for each of them. */
const parent = sql<string>`parent.id`;
const parents = sql`unnest(string_to_array(${unknown('parents', 'text')}, ',')::uuid[]) as parent(id)`;

/** The totals for each parent. */
export function totalsStatement<Filter extends string>(selection: Selection<Filter>) {
  const total = sql<number>`${builder.$count(selection.rules.table, matching(selection))}::int`;
  return statement({ parent, total }, (builder, columns) => builder.select(columns).from(parents));
}

/**
 * A page. By number each row ends in the total, which is of the same snapshot: past the end there is one row without a
 * record.
 */
export function pageStatement<Filter extends string>(reading: Reading<Filter>) {
  if (reading.perParent !== undefined) {
    const page = recordsOf(reading).as('page');
    return builder
      .select({ ...page._.selectedFields })
      .from(parents)
      .crossJoinLateral(page)
      .limit(unknown('most'));
  }
  if (reading.from !== 'number') return recordsOf(reading);
  const { start, ...begin } = startOf(reading);
  const record = recordsOf(reading, begin).as('record');
  // Not a lateral join: a distributed table cannot be in one.
  return builder
    .with(start)
    .select({ ...record._.selectedFields, 'total of the list': sql`start.total` })
    .from(start)
    .leftJoin(record, sql`true`);
}

/** The columns of a row: those of the record, and those of its position and its parent that are not among them. */
type Columns<Filter extends string> = Pick<Reading<Filter>, 'rules' | 'sort' | 'perParent'>;
export function columnsOf<Filter extends string>({ rules, sort, perParent }: Columns<Filter>): SQLWrapper[] {
  const { table, columns = getTableColumns(table) } = rules;
  const ids = perParent === undefined ? [table.id] : [table.id, rules.filters[perParent] as PgColumn];
  return [...new Set<SQLWrapper>([...Object.values(columns), ...sort, ...ids])];
}

/** Where a page by number begins: so many rows after a bound, or after the first row of the list. */
interface Begin {
  bound?: SQL;
  skip?: SQL;
}

function recordsOf<Filter extends string>(reading: Reading<Filter>, { bound, skip }: Begin = {}) {
  const { rules, prefix, sort, descending, from } = reading;
  const fields = columnsOf(reading).map((column, index) =>
    is(column, Column) ? [column.name, column] : [`column ${index}`, sql`${column}`.as(`column ${index}`)],
  );
  const order = prefix === undefined || bound ? sort : [rules.filters[prefix] as PgColumn];
  const query = builder
    .select(Object.fromEntries(fields) as Record<string, PgColumn>)
    .from<PgTable>(rules.table)
    .where(bound ? and(bound, matching(reading)) : rangeOf(reading))
    .orderBy(...[...order, rules.table.id].map(part => (descending ? desc(part) : asc(part))))
    .limit(reading.perParent === undefined ? placeholder('limit') : unknown('limit'));
  const offset = (skip ??
    (reading.perParent === undefined ? placeholder('skip') : unknown('skip'))) as Placeholder;
  return from === 'number' ? query.offset(offset) : query;
}

/**
 * The total, and where a page by number begins. For a list whose totals are kept, `list_place`
 * (drizzle/migrations/*_totals.sql) knows both. Any other list is counted, and the rows before the page are skipped.
 */
function startOf<Filter extends string>(reading: Reading<Filter>) {
  const { rules, sort, descending } = reading;
  const { table } = rules;
  const list = keptList(reading);
  if (list === undefined) {
    const counted = builder.select({ total: count().as('total') }).from<PgTable>(table);
    return { start: builder.$with('start').as(counted.where(matching(reading))) };
  }
  const byId = sort.length === 0;
  const place = sql`list_place(${list}, ${byId ? placeholder('skip') : 0}, ${raw(`${descending}`)})`;
  const fields = { total: sql`total`.as('total'), bound: sql`bound`.as('bound'), rest: sql`rest`.as('rest') };
  const start = builder.$with('start').as(builder.select(fields).from(place));
  if (!byId) return { start };
  const bound = sql`${table.id} ${raw(descending ? '<' : '>=')} (select bound from start)`;
  return { start, bound, skip: sql`(select rest from start)` };
}

/** The name of a list whose total `list_watch` keeps; undefined for other lists. */
function keptList<Filter extends string>({ rules, used, hasPeriod }: Reading<Filter>): SQL | undefined {
  const { table, filters, counted = [] } = rules;
  const [only, ...others] = used;
  if (counted === false || hasPeriod || others.length > 0) return undefined;
  const name = getTableName(table);
  if (only === undefined) return raw(`'${name}'`);
  const column = filters[only];
  if (!counted.includes(only) || typeof column === 'function') return undefined;
  // The cast writes the value as the database does.
  return sql`${raw(`'${name}.${column.name}='`)} || (${placeholder(only)}::${raw(column.getSQLType())})::text`;
}

const valueFor = ({ perParent }: { perParent?: string | undefined }, filter: string): SQLWrapper =>
  filter === perParent ? parent : placeholder(filter);

/** What the filters select, and the period: a range of ids, because they begin with their time. */
function matching<Filter extends string>(selection: Selection<Filter>): SQL | undefined {
  const { rules, used, hasPeriod } = selection;
  const { id } = rules.table;
  const period = sql`${id} > ${placeholder('above')} and ${id} < ${placeholder('below')}`;
  const conditions = used.map(name => {
    const [filter, value] = [rules.filters[name], valueFor(selection, name)];
    return typeof filter === 'function' ? filter(value) : eq(filter, value);
  });
  return and(hasPeriod ? period : undefined, ...conditions);
}

/**
 * What matches beyond the position. In the order of ids, the placeholders `above` and `below` say where that is.
 *
 * With a prefix, its column and the id are compared as a pair, and the order names both. With `column = $1 order by id`, the
 * plan that Postgres keeps for all values reads the primary key and drops what does not match: 150 ms for an action that 3
 * of 600,000 entries have.
 */
function rangeOf<Filter extends string>(reading: Reading<Filter>): SQL | undefined {
  const { rules, prefix, sort, descending, from, used } = reading;
  const { id } = rules.table;
  if (sort.length > 0)
    return and(from === 'position' ? beyond([...sort, id], descending) : undefined, matching(reading));
  if (prefix === undefined) return matching({ ...reading, hasPeriod: true });
  const column = rules.filters[prefix] as PgColumn;
  const bound = (name: string) => tuple([valueFor(reading, prefix), placeholder(name)]);
  return and(
    sql`${tuple([column, id])} > ${bound('above')} and ${tuple([column, id])} < ${bound('below')}`,
    // It follows from the range, but Postgres must read it to use an index without the nulls.
    isNotNull(column),
    matching({ ...reading, used: used.filter(name => name !== prefix), hasPeriod: false }),
  );
}

/** The placeholder of a value of the position. */
export const positionValue = (index: number) => `position ${index}`;

function beyond(position: SQLWrapper[], descending: boolean): SQL {
  const values = position.map((part, index) => {
    const value = placeholder(positionValue(index));
    return is(part, Column) ? sql`${value}::text::${raw(part.getSQLType())}` : value;
  });
  return sql`${tuple(position)} ${raw(descending ? '<' : '>')} ${tuple(values)}`;
}

const tuple = (parts: SQLWrapper[]) => sql`(${sql.join(parts, sql`, `)})`;
