import { findMe, type People, registerMe } from '#src/people/identities.ts';
import { bodyCheck } from './fields/mutations.ts';
import type { SchemaPart } from './schema.ts';

/** The user behind the credentials, and how a token gets one. */
export function peopleFields(people: People): SchemaPart {
  const check = bodyCheck(people.resource.contract.create, 'own');
  return {
    sdl: /* GraphQL */ `
extend type Query {
  "The user who signed in, or null before they register."
  me: User
}
extend type Mutation {
  "Creates the user whom the token stands for from now on."
  registerMe(input: UserCreateInput!): User
}`,
    resolvers: {
      Query: { me: (_, _args, { context }) => findMe(context, people) },
      Mutation: {
        registerMe: (_, { input }: { input: object }, { context }) =>
          registerMe(context, people, check(context, input)),
      },
    },
  };
}
