import {
  Column,
  DrizzleQueryError,
  drizzle,
  type GetColumnData,
  is,
  Param,
  PgDialect,
  Placeholder,
  type SQL,
  type SQLWrapper,
  sql,
} from '#drizzle/orm.ts';
import type { Connection, Orm } from '#src/database/connection.ts';

/** What a statement returns: columns of tables, and expressions, whose values stay as the driver gives them. */
type Columns = Record<string, Column | SQL>;

export type Row<C extends Columns> = {
  [K in keyof C]: C[K] extends Column ? GetColumnData<C[K]> : C[K] extends SQL<infer T> ? T : never;
};

type Values = Record<string, unknown>;

/** Builds statements and cannot run them. */
export const builder: Orm = drizzle(() => Promise.reject(new Error('Only a connection runs statements.')));

/**
 * A hot statement: its text is built once, the drivers prepare it, and its values travel as parameters. Building it
 * with Drizzle for each call costs five times what the statement costs.
 */
export function statement<C extends Columns>(
  columns: C,
  build: (builder: Orm, columns: C) => SQLWrapper,
): (connection: Connection, values?: Values) => Promise<Row<C>[]> {
  const run = rowsOf(build(builder, columns));
  const toRecord = rowMapper(columns);
  return async (connection, values) => (await run(connection, values)).map(toRecord);
}

/**
 * Hides a value from the planner. If the planner saw a low limit or few ids, it would think another plan cheaper than
 * the one that it keeps, and plan each execution again, which takes as long as reading a page.
 */
export const unknownValue = (name: string, type = 'bigint') =>
  sql`(select ${sql.placeholder(name)}::${sql.raw(type)})`;

const dialect = new PgDialect();

/** Does what `statement` does without mapping the rows, for statements whose rows hold more than a record. */
export function rowsOf(query: SQLWrapper, isRare = false) {
  const { sql: text, params } = dialect.sqlToQuery(query.getSQL());
  const readers = params.map(parameterReader);
  return async (connection: Connection, values: Values = {}): Promise<unknown[][]> => {
    const filled = readers.map(read => read(values));
    try {
      return await connection.rows(text, filled, isRare);
    } catch (cause) {
      // Wraps the error as Drizzle does: the stack of the driver does not show who asked.
      throw new DrizzleQueryError(text, filled, cause as Error);
    }
  };
}

/** Decides once what a parameter is: a constant, or one of the values. Drizzle decides that at each call. */
function parameterReader(parameter: unknown): (values: Values) => unknown {
  const value = is(parameter, Param) ? parameter.value : parameter;
  if (!is(value, Placeholder)) return () => parameter;
  const { name } = value;
  const read = (values: Values) => {
    // A driver may take a value that was forgotten for null.
    if (!(name in values)) throw new Error(`A statement has no value for "${name}".`);
    return values[name];
  };
  return is(parameter, Param) ? values => parameter.encoder.mapToDriverValue(read(values)) : read;
}

/**
 * Turns rows into records. It decides once how to read each column. Drizzle decides that for each value, which for 20
 * records takes as long as Postgres takes to find them.
 */
export function rowMapper<C extends Columns>(columns: C): (row: unknown[]) => Row<C> {
  const readers = Object.entries(columns).map(([name, column]) => ({ name, read: valueReader(column) }));
  return row => {
    const record: Record<string, unknown> = {};
    for (let i = 0; i < readers.length; i++) {
      const { name, read } = readers[i] as (typeof readers)[number];
      const value = row[i];
      record[name] = read === undefined || value === null ? value : read(value);
    }
    return record as Row<C>;
  };
}

function valueReader(column: Column | SQL): ((value: unknown) => unknown) | undefined {
  if (!is(column, Column) || column.mapFromDriverValue === Column.prototype.mapFromDriverValue)
    return undefined;
  return value => column.mapFromDriverValue(value);
}
