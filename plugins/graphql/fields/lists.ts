import type { TObject } from '@sinclair/typebox';
import { GraphQLError, type GraphQLResolveInfo, responsePathAsArray } from 'graphql';
import type { MercuriusContext } from 'mercurius';
import type { PagedList } from '../../../src/services/lists/pagedList.ts';
import type { CursorPage } from '../../../src/services/lists/pages.ts';
import type { OperationContext, Part } from '../part.ts';
import {
  connectionArguments,
  connectionOf,
  connectionQuery,
  connectionType,
  readTotal,
} from './connections.ts';
import { type Arguments, listQuery, type QuerySchema } from './inputs.ts';
import { toArguments, toSortEnum } from './sdl.ts';

/** The list of a resource, how many records it has, and its connection. */
export function listFields<T, F extends string, S extends string>(
  { plural, record, type = record.$id ?? '' }: { plural: string; record: TObject; type?: string },
  schema: QuerySchema<F, S>,
  list: PagedList<T, F, S>,
): Part {
  const { $id = '' } = record;
  const connection = connectionType(type);
  const toConnectionQuery = connectionQuery(schema);
  const { after, before, ...parameters } = schema.properties;
  const { page, limit, sort, ...filters } = parameters;
  const toQuery = listQuery(schema);
  type ByNumber = Parameters<typeof list>[1] & { after?: never; before?: never };
  return {
    ...connection,
    sdl: [
      ...connection.sdl,
      toSortEnum($id, sort),
      /* GraphQL */ `
extend type Query {
  "The ${plural}: all of them up to a maximum, or one page if page or limit is given."
  ${plural}(${toArguments($id, parameters)}): [${type}!]!
  "How many ${plural} there are, on all pages together."
  ${plural}Count(${toArguments($id, filters)}): Int!
  "The ${plural} by cursor: the first 20, or first or last of them, from a cursor or from an end of the list."
  ${plural}Connection(${connectionArguments($id, parameters)}): ${type}Connection!
}`,
    ],
    Query: {
      [plural]: async (_, args: Arguments, operation, info) => {
        const { query, paged } = toQuery(args);
        const page = paged ? query : { ...query, page: 1, limit: operation.maxList };
        const { data, meta } = await list(operation.context, page as ByNumber);
        operation.budget.spend(data.length);
        return paged ? data : wholeList(data, meta.total > data.length, operation, info);
      },
      [`${plural}Count`]: (_, args: Arguments, { context }: MercuriusContext) =>
        readTotal(list, context, toQuery(args).query),
      [`${plural}Connection`]: async (_, args: Arguments, { context, budget }: MercuriusContext) => {
        const query = toConnectionQuery(args);
        const page = (await list(context, query)) as CursorPage<T>;
        budget.spend(page.data.length);
        return connectionOf(page, () => readTotal(list, context, query));
      },
    },
  };
}

/** A list without a page: as many records as are allowed, and a warning when there are more. */
export function wholeList<T>(
  records: T[],
  hasMore: boolean,
  { maxList, warnings }: OperationContext,
  info: GraphQLResolveInfo,
): T[] {
  if (hasMore) warnings.push(truncated(maxList, info));
  return records.slice(0, maxList);
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
