import DataLoader from 'dataloader';
import type { GraphQLResolveInfo } from 'graphql';
import type { OperationContext, Resolver, SchemaPart } from '#plugins/graphql/schema.ts';
import { filterOf } from '#schemas/parts/filters.ts';
import type { Followed } from '#src/changes/followed.ts';
import type { Slice } from '#src/records/lists/pages.ts';
import { bookkeeping } from '#src/records/lists/rules.ts';
import type { AnyResource, Relation } from '#src/records/resource.ts';
import { connectionQuery, connectionType, relayConnection } from './connections.ts';
import { listQuery, oncePerField, type Query } from './inputs.ts';
import { toArguments, toSortEnum } from './sdl.ts';

/** A list, as GraphQL shows it: `title` is the type of a record. */
type Listed = Pick<AnyResource, 'title' | 'plural' | 'nouns' | 'list'> & Pick<Followed, 'contract'>;

/** The list of a resource, how many records it has, and its connection. */
export function listFields(listed: Listed): SchemaPart[] {
  const { record, query } = listed.contract;
  const sdl = toSortEnum(record.$id ?? '', query.properties.sort);
  return [connectionType(listed.title), { sdl }, listAndConnectionFields(listed)];
}

/** The same fields on the parent of a relation, for the list of its children. */
export function childFields(relation: Relation): SchemaPart {
  const { child, name } = relation;
  if (!Object.hasOwn(child.contract.query.properties, name))
    throw new Error(`The list of ${child.nouns} has no filter "${name}".`);
  return listAndConnectionFields(child, relation);
}

/** What a connection takes besides sort and filters: which part of the list, from one of its ends or from a cursor. */
const slice = 'first: Int, after: String, last: Int, before: String';

function listAndConnectionFields(listed: Listed, relation?: Relation): SchemaPart {
  const { plural, nouns, contract, title: type } = listed;
  const { $id = '' } = contract.record;
  const { after, before, ...parameters } = contract.query.properties;
  for (const parameter of Object.keys(parameters))
    if (filterOf(parameter) === relation?.name) delete parameters[parameter];
  const { page, limit, ...criteria } = parameters;
  const { sort, ...filters } = criteria;
  const parent = relation?.parent.title ?? 'Query';
  const name = relation?.children ?? plural;
  const what = relation ? `${nouns} of the ${relation.parent.noun}` : nouns;
  return {
    sdl: /* GraphQL */ `
extend type ${parent} {
  "The ${what}: all of them up to a maximum, or one page if page or limit is given."
  ${name}(${toArguments($id, parameters)}): [${type}!]!
  "How many ${what} there are, on all pages together."
  ${name}Count(${toArguments($id, filters)}): Int!
  "The ${what} by cursor: the first 20, or first or last of them, from a cursor or from an end of the list."
  ${name}Connection(${slice}, ${toArguments($id, criteria)}): ${type}Connection!
}`,
    resolvers: { [parent]: listResolvers(name, listed, relation?.name) },
  };
}

/** The resolvers of the three fields of a list, or of the list of a parent, whose id is a value of the filter. */
function listResolvers(
  name: string,
  { contract, list }: Listed,
  filter: string | undefined,
): Record<string, Resolver> {
  const readQuery = listQuery(contract.query);
  const members = Object.keys(contract.record.properties).filter(member => !bookkeeping.includes(member));
  const listed = oncePerField((args, operation, info) => {
    const query = { ...readQuery(args), $brief: selectsOnly(members, info) };
    const isPaged = typeof (args.page ?? args.limit) === 'number';
    const page = isPaged ? query : { ...query, page: 1, limit: operation.maxList };
    return { isPaged, ...listReads(list, filter, page, operation, info) };
  });
  const connected = oncePerField((args, operation, info) =>
    listReads(list, filter, connectionQuery(readQuery, args), operation, info),
  );
  return {
    [name]: async ({ id }, args, operation, info) => {
      const { isPaged, pageOf } = await listed(args, operation, info);
      const { data, hasNext } = await pageOf(id);
      // The list has as many records as are allowed; a warning says that there are more.
      if (!isPaged && hasNext) operation.warnOfTruncation(info);
      return data;
    },
    [`${name}Count`]: ({ id }, args, operation, info) =>
      listed(args, operation, info).then(({ totalOf }) => totalOf(id)),
    [`${name}Connection`]: async ({ id }, args, operation, info) => {
      const { pageOf, totalOf } = await connected(args, operation, info);
      return relayConnection(await pageOf(id), () => totalOf(id));
    },
  };
}

/** The functions that read a list, or, with a filter, the list of a parent together with those of other parents. */
function listReads(
  list: Listed['list'],
  filter: string | undefined,
  query: Query,
  { context, budget, valuesOf, fail }: OperationContext,
  info: GraphQLResolveInfo,
) {
  const { page, limit, after, before, sort, ...criteria } = query;
  const values = valuesOf(info);
  async function readAlone(query: Query) {
    // A page by number counts records. The first page is read by cursor, which counts none.
    const isFirst = (query.page ?? 1) === 1;
    const page = await (isFirst ? list.byCursor(context, query) : list.byNumber(context, query));
    await budget.spend(page.data.length, page.data.length * values);
    await budget.ownTurn(context);
    return page as Slice<object>;
  }
  if (filter === undefined)
    return {
      pageOf: () => readAlone(query),
      totalOf: async () => (await list.byNumber(context, { ...criteria, limit: 1 })).meta.total,
    };
  const parents = (ids: readonly string[]) => ({ filter: filter as never, ids: [...new Set(ids)] });
  const failed = (error: unknown) => fail(error, info);
  const pages = batchLoader(failed, ids =>
    budget.inSequence(async remaining => {
      const each = parents(ids);
      const pages = await list.ofEach(context, each, query, remaining + each.ids.length + 1);
      // Each list was counted as 1 when it was asked for, which pays for its first record.
      const lengths = ids.map(id => pages.get(id)?.data.length ?? 0);
      const sum = lengths.reduce((sum, length) => sum + length);
      await budget.spend(sum - lengths.filter(length => length > 0).length, sum * values);
      await budget.ownTurn(context);
      return pages;
    }),
  );
  const totals = batchLoader(failed, ids => list.totalOfEach(context, parents(ids), criteria));
  return {
    // A page by cursor is read alone: the cursor belongs to one parent.
    pageOf: (id: string) => (after || before ? readAlone({ ...query, [filter]: id }) : pages.load(id)),
    totalOf: (id: string) => totals.load(id),
  };
}

/**
 * Joins the lookups of one turn of the event loop into one, in which an id may appear several times. Nothing is kept
 * longer, because a mutation may change it in the next turn.
 */
const batchLoader = <V>(
  failed: (error: unknown) => Promise<never>,
  read: (ids: readonly string[]) => Promise<Map<string, V>>,
) =>
  new DataLoader<string, V>(
    async ids => {
      const values = await read(ids).catch(failed);
      return ids.map(id => values.get(id) as V);
    },
    { cache: false },
  );

/** Whether only these names are selected below a field, fragments included. A field that a variable may skip counts. */
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
