import type { Static, TObject, TSchema } from '@sinclair/typebox';
import { GraphQLError, type GraphQLResolveInfo, responsePathAsArray } from 'graphql';
import type { MercuriusContext } from 'mercurius';
import type { Context } from '../../../src/core/context.ts';
import type { Page, PageRequest } from '../../../src/core/pages.ts';
import type { OperationContext, Part } from '../part.ts';
import { checkedBy } from './inputs.ts';
import { fromSortEnum, toArguments, toSortEnum } from './sdl.ts';

export type Arguments = Record<string, unknown>;

/** Turns the arguments of a list into the query of its REST list, and tells whether they select a page. */
export function listQuery<T extends TSchema>(schema: T) {
  const check = checkedBy(schema, 'query');
  return (args: Arguments): { query: Static<T>; paged: boolean } => {
    const given = Object.entries(args).filter(([, value]) => value !== null && value !== undefined);
    const { sort, ...rest } = Object.fromEntries(given);
    // Before the check, which fills in the defaults of a page.
    const paged = 'page' in rest || 'limit' in rest;
    return { query: check(typeof sort === 'string' ? { ...rest, sort: fromSortEnum(sort) } : rest), paged };
  };
}

/** The query of a REST list. */
type ListQuery = TSchema & { static: PageRequest; properties: Record<string, TSchema> };
/** A list field has no cursor. */
type ByNumber<Query> = Omit<Query, 'after' | 'before'>;

/** The list of a resource, and how many records it has. */
export function listFields<S extends ListQuery, T>(
  { plural, record, type = record.$id ?? '' }: { plural: string; record: TObject; type?: string },
  schema: S,
  read: (context: Context, query: ByNumber<Static<S>>) => Promise<Page<T>>,
): Part {
  const { $id = '' } = record;
  const { after, before, ...parameters } = schema.properties;
  const { page, limit, sort, ...filters } = parameters;
  const toQuery = listQuery(schema);
  return {
    sdl: [
      toSortEnum($id, sort),
      /* GraphQL */ `
extend type Query {
  "The ${plural}: all of them up to a maximum, or one page if page or limit is given."
  ${plural}(${toArguments($id, parameters)}): [${type}!]!
  "How many ${plural} there are, on all pages together."
  ${plural}Count(${toArguments($id, filters)}): Int!
}`,
    ],
    Query: {
      [plural]: async (_, args: Arguments, operation, info) => {
        const { query, paged } = toQuery(args);
        const page = paged ? query : { ...query, page: 1, limit: operation.maxList };
        const { data, meta } = await read(operation.context, page);
        operation.budget.spend(data);
        return paged ? data : wholeList(data, meta.total > data.length, operation, info);
      },
      [`${plural}Count`]: async (_, args: Arguments, { context }: MercuriusContext) =>
        (await read(context, toQuery(args).query)).meta.total,
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
