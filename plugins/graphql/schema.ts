import { buildSchema, printSchema } from 'graphql';
import type { IResolvers, MercuriusContext } from 'mercurius';
import type { Part, Resolver, Resolvers } from './part.ts';

const base = /* GraphQL */ `
"A time, RFC 3339 in UTC."
scalar DateTime @specifiedBy(url: "https://scalars.graphql.org/andimarek/date-time")

"Where a page is in its list."
type PageInfo {
  hasNextPage: Boolean!
  hasPreviousPage: Boolean!
  "Null when the page is empty."
  startCursor: String
  "Null when the page is empty."
  endCursor: String
}

type Query

# A field that fails is null, so that it does not discard the results of the other mutations.
type Mutation
`;

/** Scalars that few resources use. */
const scalars = {
  Date: 'A day, such as 2026-11-21.',
  JSON: 'Any JSON value but null.',
};

export function makeSchema(parts: Part[]) {
  const fields = parts.flatMap(({ sdl }) => sdl).join('\n\n');
  const used = Object.entries(scalars).filter(([name]) => fields.includes(`: ${name}`));
  return buildSchema([base, ...used.map(([name, text]) => `"${text}" scalar ${name}`), fields].join('\n\n'));
}

export const schemaText = (parts: Part[]) => `${printSchema(makeSchema(parts))}\n`;

/** The resolvers of all parts by type; several parts may add fields to one type. */
export function makeResolvers(parts: Part[]): IResolvers {
  const resolvers: Record<string, Resolvers> = {};
  const add = (type: string, fields: Resolvers = {}, wrap = (resolver: Resolver) => resolver) => {
    for (const [name, resolver] of Object.entries(fields))
      resolvers[type] = { ...resolvers[type], [name]: wrap(resolver) };
  };
  for (const { Query, Mutation, types = {} } of parts) {
    add('Query', Query);
    add('Mutation', Mutation);
    for (const [type, fields] of Object.entries(types)) add(type, fields, counted);
  }
  return resolvers;
}

/**
 * Async, because it must not throw at once: when one item of a list throws, graphql-js forgets the promises of the items
 * before it, and a forgotten promise that fails ends the process.
 */
const counted =
  (resolve: Resolver): Resolver =>
  async (parent, args, operation: MercuriusContext, info) => {
    operation.budget.spendLookup(info);
    return resolve(parent, args, operation, info);
  };
