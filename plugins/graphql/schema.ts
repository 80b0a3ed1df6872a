import { buildSchema, printSchema } from 'graphql';
import type { IResolvers, MercuriusContext } from 'mercurius';
import { tookTooLong } from '../../src/core/errors.ts';
import { posts } from './resources/posts.ts';
import type { Resolver, Resolvers } from './resources/resource.ts';
import { subscriptions } from './resources/subscriptions.ts';
import { users } from './resources/users.ts';

const resources = [users, posts, subscriptions];

const base = /* GraphQL */ `
"A time, RFC 3339 in UTC."
scalar DateTime @specifiedBy(url: "https://scalars.graphql.org/andimarek/date-time")

type Query

# A field that fails is null, so that it does not discard the results of the other mutations.
type Mutation
`;

export const makeSchema = () => buildSchema([base, ...resources.flatMap(({ sdl }) => sdl)].join('\n\n'));

export const schemaText = () => `${printSchema(makeSchema())}\n`;

const merge = (parts: (Resolvers | undefined)[]): Resolvers => Object.assign({}, ...parts);

export const resolvers: IResolvers = {
  Query: merge(resources.map(({ Query }) => Query)),
  Mutation: guarded(merge(resources.map(({ Mutation }) => Mutation))),
  ...Object.assign({}, ...resources.map(({ types }) => types)),
};

/** After a 503 the client retries all of its mutations, so no further one may begin. */
function guarded(mutations: Resolvers): Resolvers {
  const wrapped = Object.entries(mutations).map(([name, mutate]): [string, Resolver] => [
    name,
    (parent, args, operation: MercuriusContext, info) => {
      if (operation.isAnswered()) throw tookTooLong();
      return mutate(parent, args, operation, info);
    },
  ]);
  return Object.fromEntries(wrapped);
}
