import type { SchemaPart } from '#plugins/graphql/schema.ts';
import { pageLimit } from '#schemas/parts/lists.ts';
import { capitalize, withArticle } from '#src/core/text.ts';
import type { Slice } from '#src/records/lists/pages.ts';
import { wrongParameter } from '#src/records/lists/rules.ts';
import { type Arguments, type listQuery, type Query, withoutNulls } from './inputs.ts';

/** The types of the connections to records of a type. The total is read only when it is selected. */
export const connectionType = (type: string): SchemaPart => ({
  sdl: /* GraphQL */ `
"${capitalize(withArticle(type))}, and its place in a list."
type ${type}Edge {
  "For after and before, here and in REST with the same sort and filters."
  cursor: String!
  node: ${type}!
}

"A page of a list of ${type} by cursor."
type ${type}Connection {
  edges: [${type}Edge!]!
  "The records of the edges."
  nodes: [${type}!]!
  pageInfo: PageInfo!
  "How many records the list has, on all pages together."
  totalCount: Int!
}`,
  resolvers: {
    [`${type}Connection`]: { totalCount: ({ total }: ReturnType<typeof relayConnection>) => total() },
  },
});

type Part = { first?: number; after?: string; last?: number; before?: string };
const exclusive = [
  ['last', 'first'],
  ['before', 'first'],
  ['after', 'last'],
  ['before', 'after'],
] as const;

/** Turns the arguments of a connection into the query of its REST list, always with one cursor. */
export function connectionQuery(readQuery: ReturnType<typeof listQuery>, args: Arguments): Query {
  const given = withoutNulls(args) as Part;
  for (const [name, other] of exclusive)
    if (given[name] !== undefined && given[other] !== undefined)
      throw wrongParameter(name, `cannot be combined with "${other}"`);
  const { first, last, after, before, ...criteria } = given;
  const limit = first ?? last ?? pageLimit.default;
  if (limit < 0 || limit > pageLimit.maximum)
    throw wrongParameter(
      first === undefined ? 'last' : 'first',
      `must be a whole number from 0 to ${pageLimit.maximum}`,
    );
  const isBackward = last !== undefined || before !== undefined;
  const cursor = isBackward ? { before: before ?? '' } : { after: after ?? '' };
  // The limit is set after the check of REST, which refuses 0.
  return { ...readQuery({ ...criteria, ...cursor }), limit };
}

/** A page as a connection. Most of its parts are made only when they are selected. */
export const relayConnection = (
  { data, hasNext, hasPrevious, cursorAt }: Slice<object>,
  total: () => Promise<number>,
) => ({
  edges: () => data.map((node, index) => ({ cursor: cursorAt(index), node })),
  nodes: data,
  pageInfo: () => ({
    hasNextPage: hasNext,
    hasPreviousPage: hasPrevious,
    startCursor: data.length === 0 ? null : cursorAt(0),
    endCursor: data.length === 0 ? null : cursorAt(-1),
  }),
  total,
});
