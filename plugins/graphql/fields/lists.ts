import type { TObject } from '@sinclair/typebox';
import { GraphQLError, type GraphQLResolveInfo, responsePathAsArray } from 'graphql';
import type { PagedList } from '../../../src/services/lists/pagedList.ts';
import type { Slice } from '../../../src/services/lists/pages.ts';
import type { Criteria, ListQuery } from '../../../src/services/lists/rules.ts';
import { selectedNames } from '../documents/selection.ts';
import type { OperationContext, Part, Resolvers } from '../part.ts';
import { connectionArguments, connectionOf, connectionQuery, connectionType } from './connections.ts';
import { type Arguments, listQuery, oncePerField, type QuerySchema } from './inputs.ts';
import { toArguments, toSortEnum } from './sdl.ts';

/** The list of a resource, how many records it has, and its connection. */
export function listFields<T, F extends string, S extends string>(
  { plural, record, type = record.$id ?? '' }: { plural: string; record: TObject; type?: string },
  schema: QuerySchema<F, S>,
  list: PagedList<T, F, S>,
): Part {
  const connection = connectionType(type);
  const sort = toSortEnum(record.$id ?? '', schema.properties.sort);
  const { sdl, resolvers } = fieldsOn('Query', { plural, record, type }, schema, list);
  return { ...connection, sdl: [...connection.sdl, sort, sdl], Query: resolvers };
}

/** The fields of a list on a type: a page by number, the total, and a page by cursor. */
export function fieldsOn<T, F extends string, S extends string>(
  on: string,
  { plural, record, type = record.$id ?? '' }: { plural: string; record: TObject; type?: string },
  schema: QuerySchema<F, S>,
  list: PagedList<T, F, S>,
  parent?: { name: string; filter: F },
): { sdl: string; resolvers: Resolvers } {
  const { $id = '' } = record;
  const { after, before, ...parameters } = schema.properties;
  if (parent) delete parameters[parent.filter];
  const { page, limit, sort, ...filters } = parameters;
  const toQuery = oncePerField(listQuery(schema));
  const isTimeless = oncePerField((_, info) => selectsNoTime(record, info));
  const toConnectionQuery = oncePerField(connectionQuery(schema));
  const of = parent ? ` of the ${parent.name}` : '';
  const { pageOf, totalOf } = readsOf(list, parent?.filter);
  return {
    sdl: /* GraphQL */ `
extend type ${on} {
  "The ${plural}${of}: all of them up to a maximum, or one page if page or limit is given."
  ${plural}(${toArguments($id, parameters)}): [${type}!]!
  "How many ${plural}${of} there are, on all pages together."
  ${plural}Count(${toArguments($id, filters)}): Int!
  "The ${plural}${of} by cursor: the first 20, or first or last of them, from a cursor or from an end of the list."
  ${plural}Connection(${connectionArguments($id, parameters)}): ${type}Connection!
}`,
    resolvers: {
      [plural]: async ({ id }, args: Arguments, operation, info) => {
        const { query, paged } = await toQuery(args, info);
        const page = paged ? query : { ...query, page: 1, limit: operation.maxList };
        const timeless = await isTimeless(args, info);
        const { data, hasNext } = await pageOf(id, { ...page, ...(parent && { timeless }) }, operation);
        // As many records as are allowed, and a warning when there are more.
        if (!paged && hasNext) operation.warnings.push(truncated(operation.maxList, info));
        return data;
      },
      [`${plural}Count`]: async ({ id }, args: Arguments, operation, info) =>
        totalOf(id, (await toQuery(args, info)).query, operation),
      [`${plural}Connection`]: async ({ id }, args: Arguments, operation, info) => {
        const query = await toConnectionQuery(args, info);
        const page = await pageOf(id, query, operation);
        return connectionOf(page, () => totalOf(id, query, operation));
      },
    },
  };
}

/** Whether a list can be read without times: they are a fifth of the cost of a query with 400 posts. */
function selectsNoTime({ properties }: TObject, info: GraphQLResolveInfo): boolean {
  return ![...selectedNames(info)].some(name => properties[name]?.format === 'date-time');
}

/** What reads a list, or that of a parent, whose id is a value of the filter. */
function readsOf<T, F extends string, S extends string>(list: PagedList<T, F, S>, filter: F | undefined) {
  type Query = ListQuery<F, S>;
  async function pageOf(id: string, query: Query, operation: OperationContext) {
    const { context, load, budget } = operation;
    // A cursor belongs to one parent. The page at an end of the list is read together with those of other parents.
    if (filter && !query.after && !query.before)
      return load(list, ['page', filter, query], id, (ids, timesOf) =>
        budget.inSequence(async remaining => {
          const pages = await list.ofEach(context, { filter, ids }, query, remaining + ids.length + 1);
          // The first record of a list was counted when the list was asked for.
          for (const [id, { data }] of pages) budget.spend(Math.max(0, data.length - 1) * timesOf(id));
          return pages;
        }),
      );
    const page = await list(context, filter ? { ...query, [filter]: id } : query);
    budget.spend(page.data.length);
    return page as Slice<T>;
  }
  async function totalOf(id: string, query: Query, { context, load }: OperationContext) {
    const { page, limit, after, before, sort, ...criteria } = query;
    if (filter)
      return load(list, ['total', filter, criteria], id, ids =>
        list.totalOfEach(context, { filter, ids }, criteria as Criteria<F>),
      );
    const { meta } = await list(context, { ...criteria, sort, limit: 1 } as Query);
    return 'total' in meta ? meta.total : 0;
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
