import type { TObject } from '@sinclair/typebox';
import { GraphQLError, type GraphQLResolveInfo, responsePathAsArray } from 'graphql';
import type { PagedList } from '../../../src/services/lists/pagedList.ts';
import type { Slice } from '../../../src/services/lists/pages.ts';
import type { ListQuery } from '../../../src/services/lists/rules.ts';
import { childrenOf, type Relation, relationsOf } from '../../../src/services/relations.ts';
import type { AnyResource } from '../../../src/services/resource.ts';
import { selectedNames } from '../documents/selection.ts';
import type { OperationContext, Part, Resolvers } from '../part.ts';
import { connectionArguments, connectionOf, connectionQuery, connectionType } from './connections.ts';
import { type Arguments, listQuery, oncePerField } from './inputs.ts';
import { toArguments, toSortEnum } from './sdl.ts';

/** A list, as GraphQL shows it. */
export interface Listed {
  plural: string;
  nouns: string;
  contract: { record: TObject; query: TObject };
  list: PagedList<object, never, never>;
  /** The type of a record, when GraphQL has another use for the name of its schema. */
  type?: string;
}
/** A query that was checked by its schema. */
type Query = ListQuery<never, never>;

/** The list of a resource, how many records it has, and its connection. */
export function listFields(listed: Listed): Part {
  const { record, query } = listed.contract;
  const connection = connectionType(listed.type ?? record.$id ?? '');
  const sort = toSortEnum(record.$id ?? '', query.properties.sort);
  const { sdl, resolvers } = fieldsOf(listed);
  return { ...connection, sdl: [...connection.sdl, sort, sdl], Query: resolvers };
}

/** The fields of a list on a type: a page by number, the total, and a page by cursor. */
export function fieldsOf(
  { plural, nouns, contract, list, type = contract.record.$id }: Listed,
  relation?: Relation,
): { sdl: string; resolvers: Resolvers } {
  const { record, query: schema } = contract;
  const { $id = '' } = record;
  const { after, before, ...parameters } = schema.properties;
  if (relation) delete parameters[relation.name];
  const { page, limit, sort, ...filters } = parameters;
  const toQuery = oncePerField(listQuery(schema));
  const toConnectionQuery = oncePerField(connectionQuery(schema));
  const name = relation?.children ?? plural;
  const of = relation ? ` of the ${relation.parent.noun}` : '';
  const { pageOf, totalOf } = readsOf(list, relation?.name);
  return {
    sdl: /* GraphQL */ `
extend type ${relation?.parent.title ?? 'Query'} {
  "The ${nouns}${of}: all of them up to a maximum, or one page if page or limit is given."
  ${name}(${toArguments($id, parameters)}): [${type}!]!
  "How many ${nouns}${of} there are, on all pages together."
  ${name}Count(${toArguments($id, filters)}): Int!
  "The ${nouns}${of} by cursor: the first 20, or first or last of them, from a cursor or from an end of the list."
  ${name}Connection(${connectionArguments($id, parameters)}): ${type}Connection!
}`,
    resolvers: {
      [name]: async ({ id }, args: Arguments, operation, info) => {
        const { query, paged } = await toQuery(args, info);
        const page = paged ? query : { ...query, page: 1, limit: operation.maxList };
        const { data, hasNext } = await pageOf(id, page, operation);
        // As many records as are allowed, and a warning when there are more.
        if (!paged && hasNext) operation.warnings.push(truncated(operation.maxList, info));
        return data;
      },
      [`${name}Count`]: async ({ id }, args: Arguments, operation, info) =>
        totalOf(id, (await toQuery(args, info)).query, operation),
      [`${name}Connection`]: async ({ id }, args: Arguments, operation, info) => {
        const query = await toConnectionQuery(args, info);
        const page = await pageOf(id, query, operation);
        return connectionOf(page, () => totalOf(id, query, operation));
      },
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
    const page = await list.page(context, filter ? { ...query, [filter]: id } : query);
    budget.spend(page.data.length);
    return page as Slice<object>;
  }
  async function totalOf(id: string, query: Query, { context, load }: OperationContext) {
    const { page, limit, after, before, sort, ...criteria } = query;
    if (filter)
      return load(list, ['total', filter, criteria], id, ids =>
        list.totalOfEach(context, parents(ids), criteria),
      );
    return (await list.byNumber(context, { ...criteria, sort, limit: 1 })).meta.total;
  }
  return { pageOf, totalOf };
}

const truncated = (maximum: number, info: GraphQLResolveInfo) =>
  new GraphQLError(
    `The list has more than ${maximum} records; these are the first. Use page and limit to read the rest.`,
    {
      nodes: info.fieldNodes,
      path: responsePathAsArray(info.path),
      extensions: { code: 'LIST_TRUNCATED', maximum },
    },
  );
