import {
  and,
  getTableColumns,
  isNotNull,
  isNull,
  type PgColumn,
  type SQL,
  type SQLWrapper,
  sql,
} from '#drizzle/orm.ts';
import { rowMapper, rowsOf, unknownValue } from '#src/database/statements/statement.ts';
import { makeCriterion } from './criteria.ts';
import { choosing, joinComma, matching, nameOf, numberIn, parents, rowsBy } from './rows.ts';
import { bookkeeping } from './rules.ts';
import {
  ids,
  isMerged,
  nullableSort,
  ofSort,
  positionColumns,
  type Reading,
  type Selection,
} from './selection.ts';
import { countQuery, type PageStart, startQuery, valuesIn } from './totals.ts';

const { placeholder, raw } = sql;

export type Run = ReturnType<typeof readPage>;
export const readPage = (reading: Reading) => rowsOf(pageStatement(reading), reading.isRare);

export type RowReader = ReturnType<typeof rowReader>;

/** How the rows of a list are read, whatever statement they come from. */
export function rowReader(selection: Selection) {
  const columns = rowColumns(selection);
  const position = positionColumns(selection).map(column => columns.indexOf(column));
  const parent = columns.indexOf(parentColumn(selection) as PgColumn);
  return {
    toRecord: rowMapper(recordColumns(selection)),
    /** A position without a value of the sort is that of a record where it is null. */
    positionOf: (row: unknown[] | undefined) =>
      row ? position.flatMap(index => (row[index] === null ? [] : String(row[index]))) : [],
    parentOf: (row: unknown[]) => row[parent],
  };
}

/**
 * Whether the rows of a page are behind one without a record, which ends in the total, of the same snapshot, and in how
 * many rows were counted for it. PostgreSQL answers with the parts of a union in their order.
 */
export const hasStart = ({ from, way }: Reading) => from === 'number' || way === 'gathered';

/** The statement of a page. */
function pageStatement(reading: Reading): SQL {
  // Selects each parent that has records: its id, its total, and how many rows were counted for that.
  if (reading.way === 'counted') return sql`select "$parent", ${countQuery(reading)} group by "$parent"`;
  if (reading.perParent !== undefined) {
    const page = recordQuery(reading);
    return sql`select page.* from ${parents} cross join lateral (${page}) as page limit ${unknownValue('$most')}`;
  }
  if (!hasStart(reading)) return recordQuery(reading);
  const { start, ...begin } = startQuery(reading);
  const nothing = joinComma(rowColumns(reading).map(() => sql`null`));
  return sql`with start as (${start}) select ${nothing}, total, passed from start
    union all select record.*, null, null from (${recordQuery(reading, begin)}) as record`;
}

/** The columns of a record, by member. */
function recordColumns({ rules: { table, columns = getTableColumns(table) }, brief }: Selection) {
  if (!brief) return columns;
  return Object.fromEntries(Object.entries(columns).filter(([member]) => !bookkeeping.includes(member)));
}

const parentColumn = ({ rules, perParent }: Selection) =>
  rules.filters[perParent ?? ''] as PgColumn | undefined;

/** The columns of a row: those of the record, and those of its position and its parent that are not among them. */
function rowColumns(selection: Selection): SQLWrapper[] {
  const { table, sorts } = selection.rules;
  const columns = Object.values(recordColumns(selection));
  const placing = [...(sorts?.[selection.sort] ?? []), table.id, parentColumn(selection) ?? []].flat();
  return [...new Set<SQLWrapper>([...columns, ...placing])];
}

function recordQuery(reading: Reading, start: PageStart = {}): SQL {
  const { rules, criteria, way, perParent } = reading;
  const { select, number, beginning, end, sorted, nullable, isById } = frameOf(reading, start);
  const { bound, isPaid } = start;
  const orderIndex = isById ? ids : ofSort;
  const inOrder = { ...reading, by: isById && way === 'ordered' ? reading.by : orderIndex };
  const named = (rows: SQL) => sql`(${rows}) as ${nameOf(reading)}`;

  if (bound) return sorted(rules.table, and(bound, matching(reading, criteria)));
  if (way === 'gathered') {
    const rows = sql`select * ${rowsBy({ ...reading, descending: false })} offset 0`;
    return sorted(named(rows), choosing(reading));
  }
  const others = choosing(inOrder);
  if (way === 'walked') {
    const next = sql`select * ${rowsBy(inOrder)} limit ${number('$most')}`;
    return sorted(named(next), others);
  }
  if (way === 'ordered' && isById && isMerged(reading)) {
    const { by } = reading;
    const each = rowsBy({ ...reading, criteria: [makeCriterion(by)], perParent: by });
    const rows = named(sql`select * ${each} ${beginning}`);
    return sorted(sql`${valuesIn(reading)} cross join lateral ${rows}`);
  }
  if (nullable && perParent !== undefined) return sorted(rules.table, others);
  if (nullable) {
    const part = (isPart: SQL) => sql`(select * ${rowsBy(inOrder, and(others, isPart))} ${beginning})`;
    const parts = sql`${part(isNotNull(nullable))} union all ${part(isNull(nullable))}`;
    return sorted(named(parts));
  }
  return sql`${select} ${rowsBy(inOrder, and(isPaid, others))} ${end}`;
}

/** What the statement of a page selects, in which order, and where it ends: all but where the rows come from. */
function frameOf(reading: Reading, { skip, isPaid }: PageStart) {
  const { from, descending, isRare } = reading;
  const position = positionColumns(reading);
  // PostgreSQL plans with a limit that it knows.
  const number = isRare ? (name: string) => sql`${placeholder(name)}::bigint` : numberIn(reading);
  const limit = number('limit');
  const offset = from === 'number' ? (skip ?? number('$skip')) : undefined;
  const end = sql`limit ${limit} ${offset && sql`offset ${offset}`}`;
  const select = sql`select ${joinComma(rowColumns(reading))}`;
  const direction = raw(descending ? 'desc' : 'asc');
  // An index that is read backwards has the nulls first: those are read behind the others.
  const nullable = from === 'number' && descending ? nullableSort(reading) : undefined;
  const order = position.map(
    column => sql`${column} ${direction} ${column === nullable ? sql`nulls last` : undefined}`,
  );
  return {
    select,
    number,
    nullable,
    isById: position.length === 1,
    /** The end of rows that are the first ones of the page and of those that it skips. */
    beginning: sql`limit ${limit} ${offset && sql`+ ${offset}`}`,
    end,
    sorted: (rows: SQLWrapper, condition?: SQL) =>
      sql`${select} from ${rows} where ${and(isPaid, condition) ?? sql`true`} order by ${joinComma(order)} ${end}`,
  };
}
