import type { GraphQLResolveInfo } from 'graphql';
import type { Followed } from '../../../src/services/changes/followed.ts';
import type { Slice } from '../../../src/services/lists/pages.ts';
import { bookkeeping } from '../../../src/services/lists/rules.ts';
import type { Relation } from '../../../src/services/relations.ts';
import type { AnyResource } from '../../../src/services/resource.ts';
import type { OperationContext } from '../execution/executor.ts';
import type { Resolver, SchemaPart } from '../schema.ts';
import { connectionOf, connectionQuery, connectionType } from './connections.ts';
import { type Arguments, listQuery, oncePerField, type Query } from './inputs.ts';
import { toArguments, toSortEnum } from './sdl.ts';

/** A list, as GraphQL shows it: `title` is the type of a record. */
type Listed = Pick<AnyResource, 'title' | 'plural' | 'nouns' | 'list'> & Pick<Followed, 'contract'>;

/** The list of a resource, how many records it has, and its connection. */
export function listFields(listed: Listed): SchemaPart[] {
  const { record, query } = listed.contract;
  const sort = toSortEnum(record.$id ?? '', query.properties.sort);
  return [connectionType(listed.title), { sdl: [sort] }, fieldsOf(listed)];
}

/** The same fields on the parent of a relation, for the list of its children. */
export function childFields(relation: Relation): SchemaPart {
  const { child, name } = relation;
  if (!Object.hasOwn(child.contract.query.properties, name))
    throw new Error(`The list of ${child.nouns} has no filter "${name}".`);
  return fieldsOf(child, relation);
}

/**
 * What a connection takes besides the sort and the filters of the list: a part from one of its ends or from a cursor.
 */
const slice = 'first: Int, after: String, last: Int, before: String';

function fieldsOf(listed: Listed, relation?: Relation): SchemaPart {
  const { plural, nouns, contract, title: type } = listed;
  const { $id = '' } = contract.record;
  const { after, before, ...parameters } = contract.query.properties;
  if (relation) delete parameters[relation.name];
  const { page, limit, ...criteria } = parameters;
  const { sort, ...filters } = criteria;
  const parent = relation?.parent.title ?? 'Query';
  const name = relation?.children ?? plural;
  const what = relation ? `${nouns} of the ${relation.parent.noun}` : nouns;
  return {
    sdl: [
      /* GraphQL */ `
extend type ${parent} {
  "The ${what}: all of them up to a maximum, or one page if page or limit is given."
  ${name}(${toArguments($id, parameters)}): [${type}!]!
  "How many ${what} there are, on all pages together."
  ${name}Count(${toArguments($id, filters)}): Int!
  "The ${what} by cursor: the first 20, or first or last of them, from a cursor or from an end of the list."
  ${name}Connection(${slice}, ${toArguments($id, criteria)}): ${type}Connection!
}`,
    ],
    resolvers: { [parent]: resolversOf(name, listed, relation?.name) },
  };
}

/** The resolvers of the three fields of a list, or of the list of a parent, whose id is a value of the filter. */
function resolversOf(
  name: string,
  { contract, list }: Listed,
  filter: string | undefined,
): Record<string, Resolver> {
  const readQuery = listQuery(contract.query);
  const members = Object.keys(contract.record.properties).filter(member => !bookkeeping.includes(member));
  const toQuery = oncePerField((args, info) => ({ ...readQuery(args), $brief: selectsOnly(members, info) }));
  const toConnectionQuery = oncePerField(connectionQuery(contract.query));
  const { pageOf, totalOf } = readsOf(list, filter);
  return {
    [name]: async ({ id }, args: Arguments, operation, info) => {
      const query = await toQuery(args, info);
      const isPaged = typeof (args.page ?? args.limit) === 'number';
      const page = isPaged ? query : { ...query, page: 1, limit: operation.maxList };
      const { data, hasNext } = await pageOf(id, page, operation);
      // As many records as are allowed, and a warning when there are more.
      if (!isPaged && hasNext) operation.warnOfTruncation(info);
      return data;
    },
    [`${name}Count`]: async ({ id }, args: Arguments, operation, info) =>
      totalOf(id, await toQuery(args, info), operation),
    [`${name}Connection`]: async ({ id }, args: Arguments, operation, info) => {
      const query = await toConnectionQuery(args, info);
      return connectionOf(await pageOf(id, query, operation), () => totalOf(id, query, operation));
    },
  };
}

/** What reads a list, or that of a parent, whose id is a value of the filter. */
function readsOf(list: Listed['list'], filter: string | undefined) {
  const parents = (ids: string[]) => ({ filter: filter as never, ids });
  async function pageOf(id: string, query: Query, operation: OperationContext) {
    const { context, load, budget } = operation;
    // A cursor belongs to one parent. The page at an end of the list is read together with those of other parents.
    if (filter && !query.after && !query.before)
      return load(list, ['page', filter, query], id, (ids, timesOf) =>
        budget.inSequence(async remaining => {
          const pages = await list.ofEach(context, parents(ids), query, remaining + ids.length + 1);
          // The first record of a list was counted when the list was asked for.
          for (const [id, { data }] of pages) budget.spend(Math.max(0, data.length - 1) * timesOf(id));
          return pages;
        }),
      );
    const own = filter ? { ...query, [filter]: id } : query;
    // A page by number counts the records before it; before the first one there are none.
    const isFirst = (query.page ?? 1) === 1;
    const page = await (isFirst ? list.byCursor(context, own) : list.byNumber(context, own));
    budget.spend(page.data.length);
    return page as Slice<object>;
  }
  async function totalOf(id: string, query: Query, { context, load }: OperationContext) {
    const { page, limit, after, before, sort, ...criteria } = query;
    if (filter)
      return load(list, ['total', filter, criteria], id, ids =>
        list.totalOfEach(context, parents(ids), criteria),
      );
    return (await list.byNumber(context, { ...criteria, limit: 1 })).meta.total;
  }
  return { pageOf, totalOf };
}

/** Whether no other fields are selected below a field, by fragments too. A field that a variable may skip counts. */
function selectsOnly(names: string[], { fieldNodes, fragments }: GraphQLResolveInfo): boolean {
  const sets = new Set(fieldNodes.map(({ selectionSet }) => selectionSet));
  // The set grows while it is read. Nodes are told apart by members, because importing `Kind` would load the graphql
  // library at each start.
  for (const set of sets)
    for (const node of set?.selections ?? [])
      if (!('arguments' in node))
        sets.add(('name' in node ? fragments[node.name.value] : node)?.selectionSet);
      else if (!names.includes(node.name.value) && node.name.value !== '__typename') return false;
  return true;
}
