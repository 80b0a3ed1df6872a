import { asc, eq, getTableColumns, type PgColumn, type PgTable, sql } from '../../drizzle/orm.ts';
import { need } from '../access/need.ts';
import type { Context } from '../core/context.ts';
import { owner, owners } from '../database/statements/cursorQuery.ts';
import type { RecordTable } from '../database/statements/recordsById.ts';
import { builder, statement } from '../database/statements/statement.ts';

/** What a record calls a column. */
export const memberOf = (table: PgTable, column: PgColumn) =>
  Object.entries(getTableColumns(table)).find(([, each]) => each === column)?.[0] ?? '';

export type CountChildren = (context: Context, parents: string[]) => Promise<Map<string, number>>;

/** A function that tells how many children each of these parents has. */
export function countsOf(table: RecordTable, column: PgColumn): CountChildren {
  const total = sql<number>`${builder.$count(table, eq(column, owner))}::int`;
  const read = statement({ id: owner, total }, (builder, columns) => builder.select(columns).from(owners));
  return async (context, parents) => {
    need(context, 'read');
    const rows = await read(context.db, { owners: parents.join() });
    return new Map(rows.map(({ id, total }) => [id, total]));
  };
}

/** A part of the children of each parent, in the order of creation. */
export interface Slice {
  limit: number;
  skip: number;
  /** Of the children of all parents together. */
  most: number;
  /** Besides the id and the parent. Leaving out some saves a sixth of a query with 400 posts. */
  members: readonly string[];
}

type Child = Record<string, unknown> & { id: string };
export type ReadChildren = (
  context: Context,
  parents: string[],
  slice: Slice,
) => Promise<Map<string, Child[]>>;

/** A function that reads the same slice of the children of each of these parents. */
export function pagesOf(table: RecordTable, column: PgColumn): ReadChildren {
  const parentMember = memberOf(table, column);
  const statements = new Map<string, ReturnType<typeof sliceOf>>();
  return async (context, parents, { members, ...slice }) => {
    need(context, 'read');
    const key = members.toSorted().join();
    const read = statements.get(key) ?? sliceOf(table, column, [...members, 'id', parentMember]);
    statements.set(key, read);
    const rows = (await read(context.db, { owners: parents.join(), ...slice })) as Child[];
    const byParent = Map.groupBy(rows, child => String(child[parentMember]));
    // SQL promises no order across the join, although the slices come out sorted.
    for (const children of byParent.values()) children.sort((a, b) => (a.id < b.id ? -1 : 1));
    return byParent;
  };
}

function sliceOf(table: RecordTable, column: PgColumn, members: string[]) {
  const all: Record<string, PgColumn> = getTableColumns<PgTable>(table);
  const columns = Object.fromEntries(Object.entries(all).filter(([name]) => members.includes(name)));
  const page = builder
    .select(columns)
    .from<PgTable>(table)
    .where(eq(column, owner))
    .orderBy(asc(table.id))
    .limit(sql.placeholder('limit'))
    .offset(sql.placeholder('skip'))
    .as('page');
  const query = builder
    .select({ ...page._.selectedFields })
    .from(owners)
    .crossJoinLateral(page)
    .limit(sql.placeholder('most'));
  return statement(columns, () => query);
}
