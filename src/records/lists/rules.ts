import type { PgColumn, SQL, SQLWrapper } from '#drizzle/orm.ts';
import type { Need } from '#src/access/need.ts';
import { invalid } from '#src/core/errors.ts';
import { firstId, lastId, lowestId } from '#src/core/ids.ts';
import { readBound } from '#src/core/instants.ts';
import type { RecordTable } from '#src/database/statements/recordById.ts';

/** What defines a list: its table, who may read it, and what it can be filtered and sorted by. */
export interface ListRules<Filter extends string = string, Sort extends string = string> {
  scope: Need;
  table: RecordTable;
  /** All columns when absent. The first one is never null. */
  columns?: Record<string, PgColumn>;
  /** What each filter compares its value with. */
  filters: Record<Filter, Compared>;
  /** The filters with an index that ends in the id. When absent, all that compare a column or an expression. */
  indexed?: Filter[];
  /** The filters whose totals `list_watch` keeps besides that of the whole list. When absent, no total is kept. */
  counted?: Filter[] | undefined;
  /**
   * The columns of each sort besides `createdAt`. The id always comes last: it is the order of creation and breaks every
   * tie.
   */
  sorts?: Record<Exclude<Sort, 'createdAt'>, SQLWrapper[]>;
  /** The sorts by one column that may be null. Records without a value come last in both directions. */
  nullable?: string[];
}

/**
 * A column; or an indexed expression, such as `lower(email)`, and what makes a value comparable with it; or a condition
 * of its own.
 */
export type Compared =
  | PgColumn
  | { indexed: SQLWrapper; of: (value: SQLWrapper) => SQL }
  | { where: (value: SQLWrapper) => SQL };

export interface Period {
  createdSince?: string;
  createdBefore?: string;
}
export interface Cursors {
  after?: string;
  before?: string;
}
/** Which records a list has. A query may also have operators of filters, such as `status[in]`. */
export type Criteria<Filter extends string = string> = { [K in Filter]?: string } & Period;
export type ListQuery<Filter extends string = string, Sort extends string = string> = Criteria<Filter> &
  Cursors & {
    page?: number;
    limit: number;
    /** When absent, the newest come first, as in logs. */
    sort?: Sort | `-${Sort}`;
    /**
     * Whether `ofEach` may leave out the members in `bookkeeping`: reading 400 records then costs a quarter less. No
     * filter can have this name.
     */
    $brief?: boolean;
  };
/** The filter by owner of a private list. The service sets it, never the caller. */
export const ownFilter = '$owner';

/** Members of a record that few clients of GraphQL select. */
export const bookkeeping = ['version', 'createdAt', 'updatedAt'];

/** The names that the query has a value for. */
export const namesIn = <Name extends string>(names: readonly Name[], query: { [K in Name]?: unknown }) =>
  names.filter(name => query[name] !== undefined);

/** A period as values of a statement: a range of ids, which begin with their time, without the bounds themselves. */
export function readPeriod(query: Period) {
  const boundId = (name: keyof Period) => {
    const bound = query[name];
    const time = bound === undefined ? undefined : readBound(bound);
    return time && lowestId(time);
  };
  return { $above: boundId('createdSince') ?? firstId, $below: boundId('createdBefore') ?? lastId };
}

/** A 400 that names a parameter of the list. */
export const wrongParameter = (name: string, message: string) =>
  invalid([{ in: 'query', path: `/${name}`, message }]);
