import type { Static, TObject } from '@sinclair/typebox';
import { searchable } from '#drizzle/columns.ts';
import { getTableColumns, type PgColumn, type PgTable, type SQLWrapper, sql } from '#drizzle/orm.ts';
import type { Removal } from '#schemas/parts/contract.ts';
import type { Context } from '#src/access/context.ts';
import { type Need, need } from '#src/access/need.ts';
import { visible } from '#src/access/ownership.ts';
import type { Condition } from '#src/core/conditions.ts';
import type { Conflict } from '#src/core/conflicts.ts';
import { orNotFound } from '#src/core/errors.ts';
import { capitalize, toWords } from '#src/core/text.ts';
import { type RecordTable, recordById } from '#src/database/statements/recordById.ts';
import { foreignKeyName, relationConflicts, uniqueRule } from './constraints.ts';
import { search } from './lists/criteria.ts';
import { PagedList } from './lists/pagedList.ts';
import { type ListRules, ownFilter } from './lists/rules.ts';

/** The schemas of a resource (schemas/parts/contract.ts), its name, and those of its sorts and filters. */
export type Contract = Record<'record' | 'create' | 'replace' | 'update' | 'query' | 'list', TObject> &
  Record<'sorts' | 'filters' | 'ownFilters' | 'search', string[]> & { name: string };

/** The table of a resource: every record has a version. */
export type ResourceTable = RecordTable & {
  $inferSelect: { id: string; version: number; updatedAt: string };
};

type ListOf<C extends Contract> = ListRules<(C['filters'] | C['ownFilters'])[number], C['sorts'][number]>;

type Member<C extends Contract> = keyof Static<C['create']> & string;

interface Rules<C extends Contract> {
  /** The filters and sorts that are not simply the column with their name, such as all of its `ownFilters`. */
  filters?: Partial<ListOf<C>['filters']>;
  sorts?: Partial<ListOf<C>['sorts']>;
  /** Filters whose totals are kept instead of counted. The migration names the same columns in `list_watch`. */
  counted?: C['filters'];
  /** Unique members, or lists of members that are unique together. A second record with the same value is a 409. */
  unique?: (Member<C> | Member<C>[])[];
  /** The parents to which records belong, by the member that has the id of the parent. */
  belongsTo?: { [Name in Member<C>]?: Belonging };
  /** The member that names the user to whom a record belongs, or `id` if a record is a user: see `Ownership`. */
  owner?: Member<C> | 'id';
  /** Who may read a record. When absent, everyone with `read` or `own`. */
  readBy?: 'owner';
  /** Runs in the transaction that deletes records, also when they are deleted with a parent. */
  onRemoval?: OnRemoval;
}
interface Belonging extends Partial<Pick<Relation, 'cascade' | 'children'>> {
  parent: AnyResource | 'itself';
}
type OnRemoval = (inside: Context, ids: string[]) => Promise<void>;

/** What the services, REST and GraphQL know of a resource. */
export type Resource<C extends Contract = Contract, T extends ResourceTable = ResourceTable> = ReturnType<
  typeof resourceOf<C, T>
>;
/** A resource of any table. The query of its list must have passed the schema of the contract. */
export type AnyResource = Omit<Resource, 'list' | 'name'> & {
  name: string;
  list: PagedList<object, never, never>;
};

/** Records of a resource that belong to a parent. */
export interface Relation {
  parent: AnyResource;
  child: AnyResource;
  /** The column of the child that names the parent, and the name of its foreign key. */
  column: PgColumn;
  foreignKey: string;
  /** What a child calls the id of its parent. */
  member: string;
  /** What a child calls its parent, such as `author`: its list has a filter of this name. */
  name: string;
  /** What a parent calls its children in GraphQL. */
  children: string;
  /** When children are deleted with their parent. With `on request`, a deletion that did not ask for it is a 409. */
  cascade: 'always' | 'on request';
  /** The 409s of a deletion of the parent. */
  conflicts: ReturnType<typeof relationConflicts>;
}

/** What REST and GraphQL offer for a resource besides reading it. They do not offer an operation that is absent. */
export interface Operations {
  resource: AnyResource;
  create?: Operation<(context: Context, input: never) => Promise<{ id: string; version: number }>>;
  /** Changes by a complete input (PUT), and by some members (PATCH). */
  replace?: Change;
  change?: Change;
  remove?: Operation<
    (context: Context, id: string, options: Removal, condition?: Condition) => Promise<void>
  >;
}
type Change = Operation<
  (context: Context, id: string, input: never, condition?: Condition) => Promise<{ version: number }>
>;
/**
 * A function of a service, the scope that it needs, if not `write`, and the 409s that it throws. `conflicts` is called
 * after all relations are declared.
 */
type Operation<F> = F & {
  conflicts?: () => Conflict[];
  scope?: Need;
  /** Whether it sends one statement and waits for nothing before that. Do not copy it to a function that does more. */
  isOneStatement?: boolean;
};

/** Demands equal types of rows and records: a column that the contract lacks would have no value in an insert. */
type Same<A, B> = [A, B] extends [B, A]
  ? unknown
  : { 'These columns are not as the members': Differing<A, B> };
type Differing<A, B> = {
  [K in keyof A | keyof B]: K extends keyof A & keyof B ? ([A[K], B[K]] extends [B[K], A[K]] ? never : K) : K;
}[keyof A | keyof B];

/** The condition of a search. The subquery hides the words: PostgreSQL would take any plan but the one with the index. */
const searchIn = (columns: (PgColumn | undefined)[]) => ({
  where: (text: SQLWrapper) => sql`${searchable(columns as PgColumn[])} @@ (
    select nullif(array_to_string(array(select distinct unnest(search_words(${text}::text))), ':* & '), '') || ':*')::tsquery`,
});

/** An email address in lower case, as its index has it. */
const folded = (text: SQLWrapper | undefined) => sql`lower(${text})`;

export function resourceOf<C extends Contract, T extends ResourceTable>(
  plural: string,
  contract: C,
  table: T & Same<Static<C['record']>, T['$inferSelect']>,
  { filters, sorts, counted = [], unique = [], belongsTo = {}, owner, readBy, onRemoval }: Rules<C> = {},
) {
  const byId = recordById<T>(table);
  const ownership = { owner, isPrivate: readBy === 'owner' };
  async function find(context: Context, id: string) {
    need(context, 'read or own');
    return visible(context, ownership, await byId(context.db, id));
  }
  async function readAll(context: Context, changes: { id: string }[]) {
    need(context, 'read or own');
    const ids = [...new Set(changes.map(({ id }) => id))];
    const records = await Promise.all(ids.map(id => find(context, id)));
    return new Map(records.filter(record => record !== undefined).map(record => [record.id, record]));
  }
  const title: C['name'] = contract.name;
  const name = title.replace(/^./, first => first.toLowerCase()) as Uncapitalize<C['name']>;
  const [noun, nouns] = [toWords(name), toWords(plural)];
  const columns: Record<string, PgColumn> = getTableColumns(table);
  const columnOf = (member: string) => columns[member] ?? columns[`${member}Id`];
  const isEmail = (member: string) => contract.record.properties[member]?.format === 'email';
  const filterBy = (member: string) =>
    isEmail(member)
      ? { indexed: folded(columnOf(member)), of: (value: SQLWrapper) => folded(sql`${value} collate "C"`) }
      : columnOf(member);
  const sortBy = (member: string) => (isEmail(member) ? folded(columnOf(member)) : columnOf(member));
  const mayBeNull = (member: string) => [contract.record.properties[member]?.type].flat().includes('null');
  const without = contract.ownFilters.find(name => !Object.hasOwn({ ...filters }, name));
  if (without) throw new Error(`The service of ${plural} has no SQL for the filter "${without}".`);
  const list = new PagedList<Static<C['record']>, C['filters'][number], C['sorts'][number]>({
    scope: 'read or own',
    table,
    counted,
    filters: {
      ...(readBy === 'owner' && { [ownFilter]: columnOf(owner ?? '') }),
      ...Object.fromEntries(contract.filters.map(filter => [filter, filterBy(filter)])),
      ...filters,
      ...(contract.search.length > 0 && { [search]: searchIn(contract.search.map(columnOf)) }),
    },
    nullable: contract.sorts.filter(mayBeNull),
    sorts: {
      ...Object.fromEntries(contract.sorts.map(sort => [sort, [sortBy(sort)]])),
      createdAt: [],
      ...sorts,
    },
  } as object as ListOf<C>);
  const resource = {
    ...ownership,
    onRemoval,
    name,
    plural,
    title,
    noun,
    nouns,
    contract,
    table: table as T,
    list,
    counted,
    path: nouns.replaceAll(' ', '-'),
    unique: unique.map(members => uniqueRule(noun, table, [members].flat())),
    scope: 'read or own' as Need,
    /** Relations where its records are children, and those where they are parents; `relate` adds these. */
    parentRelations: [] as Relation[],
    childRelations: [] as Relation[],
    get parents(): Record<string, string> {
      return Object.fromEntries(this.parentRelations.map(({ name, member }) => [name, member]));
    },
    readAll,
    /** The record with this id; undefined if there is none, or if the text is no id. */
    find,
    /** The same record; throws not found if there is none. */
    get: async (context: Context, id: string) => orNotFound(capitalize(noun), await find(context, id)),
  };
  for (const [member, { parent, ...rest }] of Object.entries(belongsTo as Record<string, Belonging>))
    resource.parentRelations.push(
      makeRelation(resource, member, parent === 'itself' ? resource : parent, rest),
    );
  return resource;
}

/** Tells each resource which others belong to it, after all are declared. */
export function relate(resources: AnyResource[]): void {
  for (const relation of resources.flatMap(({ parentRelations }) => parentRelations))
    if (!relation.parent.childRelations.includes(relation)) relation.parent.childRelations.push(relation);
}

function makeRelation(
  child: AnyResource,
  member: string,
  parent: AnyResource,
  { cascade = 'on request', children = child.plural }: Omit<Belonging, 'parent'>,
): Relation {
  const column = getTableColumns<PgTable>(child.table)[member] as PgColumn;
  const foreignKey = foreignKeyName(child.table, column);
  const conflicts = relationConflicts(parent, child);
  return {
    child,
    column,
    foreignKey,
    parent,
    member,
    name: member.replace(/Id$/, ''),
    children,
    cascade,
    conflicts,
  };
}

/** How many records of each resource there are, by the plural of its name. */
export async function countRecords(context: Context, resources: Pick<AnyResource, 'plural' | 'list'>[]) {
  need(context, 'read');
  const pages = await Promise.all(resources.map(({ list }) => list.byNumber(context, { limit: 1 })));
  return Object.fromEntries(resources.map(({ plural }, i) => [plural, pages[i]?.meta.total ?? 0]));
}
