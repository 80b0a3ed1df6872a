import type { TObject } from '@sinclair/typebox';
import { GraphQLError, type GraphQLResolveInfo, responsePathAsArray } from 'graphql';
import type { PagedList } from '../../../src/services/lists/pagedList.ts';
import type { Slice } from '../../../src/services/lists/pages.ts';
import type { Criteria, ListQuery } from '../../../src/services/lists/rules.ts';
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
  const { sdl, resolvers } = fieldsOn('Query', { plural, record, type }, schema, readerOf(list));
  return { ...connection, sdl: [...connection.sdl, sort, sdl], Query: resolvers };
}

/** Reads what the fields of a list answer, of the whole list or of a parent's. */
export interface ReadList<T, F extends string, S extends string> {
  page: (operation: OperationContext, query: ListQuery<F, S>, parent: string) => Promise<Slice<T>>;
  total: (operation: OperationContext, query: ListQuery<F, S>, parent: string) => Promise<number>;
}

function readerOf<T, F extends string, S extends string>(list: PagedList<T, F, S>): ReadList<T, F, S> {
  return {
    page: async ({ context, budget }, query) => {
      const page = await list(context, query);
      budget.spend(page.data.length);
      return page as Slice<T>;
    },
    total: async ({ context }, { after: _after, before: _before, ...query }) => {
      const { meta } = await list(context, { ...query, limit: 1 } as Parameters<typeof list>[1]);
      return 'total' in meta ? meta.total : 0;
    },
  };
}

/** Reads the lists of parents, each of them together with the same list of the others. */
export function readerOfEach<T, F extends string, S extends string>(
  list: PagedList<T, F, S>,
  filter: F,
): ReadList<T, F, S> {
  const { page: pageAt } = readerOf(list);
  const [pages, totals] = [list.ofEach(filter), list.totalOfEach(filter)];
  return {
    // A cursor belongs to one parent.
    page: async (operation, query, parent) =>
      query.after || query.before
        ? pageAt(operation, { ...query, [filter]: parent }, parent)
        : operation.loaders.page(pages, parent, query),
    total: async ({ loaders }, query, parent) => {
      const { page, limit, sort, after, before, ...criteria } = query;
      return loaders.total(totals, parent, criteria as Criteria<F>);
    },
  };
}

/** The fields of a list on a type: a page by number, the total, and a page by cursor. */
export function fieldsOn<T, F extends string, S extends string>(
  on: string,
  { plural, record: { $id = '' }, type = $id }: { plural: string; record: TObject; type?: string },
  schema: QuerySchema<F, S>,
  read: ReadList<T, F, S>,
  parent?: { name: string; filter: F },
): { sdl: string; resolvers: Resolvers } {
  const { after, before, ...parameters } = schema.properties;
  if (parent) delete parameters[parent.filter];
  const { page, limit, sort, ...filters } = parameters;
  const [toQuery, toConnectionQuery] = [
    oncePerField(listQuery(schema)),
    oncePerField(connectionQuery(schema)),
  ];
  const of = parent ? ` of the ${parent.name}` : '';
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
        const { query, paged } = toQuery(args, info);
        const page = paged ? query : { ...query, page: 1, limit: operation.maxList };
        const { data, hasNext } = await read.page(operation, page, id);
        return paged ? data : wholeList(data, hasNext, operation, info);
      },
      [`${plural}Count`]: ({ id }, args: Arguments, operation, info) =>
        read.total(operation, toQuery(args, info).query, id),
      [`${plural}Connection`]: async ({ id }, args: Arguments, operation, info) => {
        const query = toConnectionQuery(args, info);
        const page = await read.page(operation, query, id);
        return connectionOf(page, () => read.total(operation, query, id));
      },
    },
  };
}

/** A list without a page: as many records as are allowed, and a warning when there are more. */
function wholeList<T>(
  records: T[],
  hasMore: boolean,
  { maxList, warnings }: OperationContext,
  info: GraphQLResolveInfo,
): T[] {
  if (hasMore) warnings.push(truncated(maxList, info));
  return records;
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
