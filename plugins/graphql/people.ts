import { user } from '../../schemas/user.ts';
import { findMe, registerMe } from '../../src/services/identities.ts';
import { bodyCheck } from './fields/mutations.ts';
import type { SchemaPart } from './schema.ts';

const check = bodyCheck(user.create, 'own');

/** The user behind the credentials, and how a token gets one. */
export const peopleFields: SchemaPart = {
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
    Query: { me: (_, _args, { context }) => findMe(context) },
    Mutation: {
      registerMe: (_, { input }: { input: object }, { context }) =>
        registerMe(context, check(context, input)),
    },
  },
};
