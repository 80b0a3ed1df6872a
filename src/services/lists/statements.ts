import {
  and,
  asc,
  Column,
  count,
  desc,
  eq,
  getTableColumns,
  getTableName,
  gt,
  is,
  isNotNull,
  lt,
  type PgColumn,
  type PgTable,
  type SQL,
  type SQLWrapper,
  sql,
} from '../../../drizzle/orm.ts';
import { firstId, lastId } from '../../core/ids.ts';
import { builder, statement } from '../../database/statements/statement.ts';
import type { ListRules, Period } from './rules.ts';

/** What a list is made of, without the values of its filters, which are placeholders of their names. */
export interface Selection<Filter extends string> {
  rules: Pick<ListRules<Filter, never>, 'table' | 'columns' | 'filters' | 'counted'>;
  /** The filters that have a value. */
  used: Filter[];
  period: Period;
  /** The filter that has another value for each parent; undefined for one list. */
  perParent?: Filter | undefined;
}

/** How a page is read. Each combination is one statement. */
export interface Reading<Filter extends string> extends Selection<Filter> {
  /** The filter whose index has the records of a value in the order of creation. */
  prefix: Filter | undefined;
  /** What the list is sorted by before the id. With a prefix there is nothing. */
  sort: SQLWrapper[];
  descending: boolean;
  /** A page by number skips rows. One by cursor begins at a position, or at an end of the list if the cursor is empty. */
  from: 'number' | 'position' | 'end';
}

/** One of the ids of the placeholder `parents`, in a statement for each of them. */
const parent = sql<string>`parent.id`;
const parents = sql`unnest(string_to_array(${sql.placeholder('parents')}, ',')::uuid[]) as parent(id)`;

/** The totals for each parent: one statement, whatever their number. */
export function totalsStatement<Filter extends string>(selection: Selection<Filter>) {
  const total = sql<number>`${builder.$count(selection.rules.table, matching(selection))}::int`;
  return statement({ parent, total }, (builder, columns) => builder.select(columns).from(parents));
}

/**
 * A page. By number each row ends in the total, which is of the same snapshot: past the end there is one row without a
 * record. For each parent a row ends in the id of its parent.
 */
export function pageStatement<Filter extends string>(reading: Reading<Filter>) {
  if (reading.perParent !== undefined) {
    const page = recordsOf(reading).as('page');
    return builder
      .select({ ...page._.selectedFields, 'id of the parent': parent })
      .from(parents)
      .crossJoinLateral(page)
      .limit(sql.placeholder('most'));
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

/** The columns of a row: those of the record, and those of its position that are not among them. */
export function columnsOf<Filter extends string>({
  rules: { table, columns = getTableColumns(table) },
  sort,
}: Pick<Reading<Filter>, 'rules' | 'sort'>): SQLWrapper[] {
  return [...new Set<SQLWrapper>([...Object.values(columns), ...sort, table.id])];
}

interface Begin {
  /** The condition that leaves out rows before the page, which are not skipped one by one. */
  bound?: SQL;
  skip: SQLWrapper;
}

function recordsOf<Filter extends string>(
  reading: Reading<Filter>,
  { bound, skip }: Begin = { skip: sql.placeholder('skip') },
) {
  const { rules, prefix, sort, descending, from } = reading;
  const { table, filters } = rules;
  const fields = columnsOf(reading).map((column, index) =>
    is(column, Column) ? [column.name, column] : [`column ${index}`, sql`${column}`.as(`column ${index}`)],
  );
  const order = prefix === undefined || bound ? sort : [filters[prefix] as PgColumn];
  const query = builder
    .select(Object.fromEntries(fields) as Record<string, PgColumn>)
    .from<PgTable>(table)
    .where(bound ? and(bound, matching(reading)) : rangeOf(reading))
    .orderBy(...[...order, table.id].map(part => (descending ? desc(part) : asc(part))))
    .limit(sql.placeholder('limit'));
  return from === 'number' ? query.offset(skip as ReturnType<typeof sql.placeholder>) : query;
}

/**
 * The total, and where a page by number begins. For a list whose totals are kept, `list_place`
 * (drizzle/migrations/*_totals.sql) knows both; any other list is counted, and the rows before the page are skipped.
 */
function startOf<Filter extends string>(reading: Reading<Filter>) {
  const { rules, sort, descending } = reading;
  const skip = sql.placeholder('skip');
  const where = matching(reading);
  const list = keptList(reading);
  if (list === undefined) {
    const counted = builder
      .select({ total: count().as('total') })
      .from<PgTable>(rules.table)
      .where(where);
    return { start: builder.$with('start').as(counted), skip };
  }
  const byId = sort.length === 0;
  const source = sql.raw(`'${getTableName(rules.table)}'`);
  const place = sql`list_place(${source}, ${list}, ${byId ? skip : 0}, ${sql.raw(String(descending))})`;
  const columns = {
    // A part that is too small for counts of its own has neither total nor bound.
    total: sql`coalesce(total, ${builder.$count(rules.table, where)})`.as('total'),
    bound: sql`coalesce(bound, ${sql.raw(`'${descending ? lastId : firstId}'`)})`.as('bound'),
    rest: sql`rest`.as('rest'),
  };
  const start = builder.$with('start').as(builder.select(columns).from(place));
  if (!byId) return { start, skip };
  const bound = sql`${rules.table.id} ${sql.raw(descending ? '<' : '>=')} (select bound from start)`;
  return { start, bound, skip: sql`(select rest from start)` };
}

/** The name of a list whose totals are kept: '' is the whole table, `column=value` a part. Undefined for other lists. */
function keptList<Filter extends string>({ rules, used, period }: Reading<Filter>): SQL | undefined {
  const { filters, counted = [] } = rules;
  const [only, ...others] = used;
  if (counted === false || others.length > 0 || inPeriod(rules.table.id, period)) return undefined;
  if (only === undefined) return sql`''`;
  const column = filters[only];
  if (!counted.includes(only) || typeof column === 'function') return undefined;
  return sql`${sql.raw(`'${column.name}='`)} || ${sql.placeholder(only)}::text`;
}

/** What the filters and the period select. */
const matching = <Filter extends string>(selection: Selection<Filter>, used = selection.used) =>
  and(
    inPeriod(selection.rules.table.id, selection.period),
    ...used.map(name => {
      const filter = selection.rules.filters[name];
      const value = valueFor(selection, name);
      return typeof filter === 'function' ? filter(value) : eq(filter, value);
    }),
  );

const valueFor = ({ perParent }: Pick<Selection<string>, 'perParent'>, filter: string): SQLWrapper =>
  filter === perParent ? parent : sql.placeholder(filter);

/** A period is a range of ids, because they begin with their time: the placeholders `above` and `below`, not included. */
const inPeriod = (id: PgColumn, { createdSince, createdBefore }: Period) =>
  and(
    createdSince === undefined ? undefined : gt(id, sql.placeholder('above')),
    createdBefore === undefined ? undefined : lt(id, sql.placeholder('below')),
  );

/**
 * What lies beyond the position. In the order of ids the range from `above` to `below` says that, too.
 *
 * With a prefix, its column and the id are compared as a pair, and the order names both. With `column = $1 order by id`, the
 * plan that Postgres keeps for all values reads the primary key and drops what does not match: 150 ms for an action that 3
 * of 600,000 entries have.
 */
function rangeOf<Filter extends string>(reading: Reading<Filter>): SQL | undefined {
  const { rules, prefix, sort, descending, from, used } = reading;
  const { table, filters } = rules;
  if (sort.length > 0) {
    const position = [...sort, table.id];
    return and(from === 'position' ? beyond(position, descending) : undefined, matching(reading));
  }
  const column = prefix === undefined ? [] : [filters[prefix] as PgColumn];
  const key = tuple([...column, table.id]);
  const bound = (name: string) =>
    tuple([...(prefix === undefined ? [] : [valueFor(reading, prefix)]), sql.placeholder(name)]);
  return and(
    sql`${key} > ${bound('above')}`,
    sql`${key} < ${bound('below')}`,
    // It follows from the range, but Postgres must read it to use an index without the nulls.
    ...column.map(isNotNull),
    matching(
      { ...reading, period: {} },
      used.filter(name => name !== prefix),
    ),
  );
}

/** The values of a position, as placeholders. */
export const positionValue = (index: number) => `position ${index}`;

function beyond(position: SQLWrapper[], descending: boolean): SQL {
  const values = position.map((part, index) => {
    const value = sql.placeholder(positionValue(index));
    return is(part, Column) ? sql`${value}::text::${sql.raw(part.getSQLType())}` : value;
  });
  return sql`${tuple(position)} ${sql.raw(descending ? '<' : '>')} ${tuple(values)}`;
}

const tuple = (parts: SQLWrapper[]) => sql`(${sql.join(parts, sql`, `)})`;
