import { strict } from '../../../schemas/common.ts';
import { paging } from '../../../schemas/lists.ts';
import { User, UserCreate, UserQuery, UserReplace, UserUpdate } from '../../../schemas/user.ts';
import { skipped } from '../../../src/core/pages.ts';
import { postMembers } from '../../../src/services/relations.ts';
import { changeUser, createUser, deleteUser, listUsers } from '../../../src/services/users.ts';
import { selectedFields } from '../documents/selection.ts';
import { type ById, changing, creating } from '../inputs.ts';
import { toInput, toSortEnum, toType } from '../sdl.ts';
import { type Arguments, listQuery, listResolvers, wholeList } from './lists.ts';
import type { Resource } from './resource.ts';

const sdl = [
  toSortEnum('UserSort', UserQuery),
  toType(User),
  toInput(UserCreate),
  toInput(UserReplace),
  toInput(UserUpdate),
  /* GraphQL */ `
extend type User {
  "The user's posts, in the order of creation: all of them up to a maximum, or one page."
  posts(page: Int, limit: Int): [Post!]!
  "How many posts the user has."
  postsCount: Int!
}

extend type Query {
  "The users: all of them up to a maximum, or one page if page or limit is given."
  users(page: Int, limit: Int, sort: UserSort, name: String, email: String): [User!]!
  "How many users there are, on all pages together."
  usersCount(name: String, email: String): Int!
  "One user, or null."
  user(id: ID!): User
}

extend type Mutation {
  "Creates a user."
  createUser(input: UserCreateInput!): User
  "Replaces a user completely."
  replaceUser(id: ID!, input: UserReplaceInput!): User
  "Updates a user partially: members that are absent stay as they are."
  updateUser(id: ID!, input: UserUpdateInput!): User
  "Deletes a user who has no posts, or with cascade up to 10,000 posts too. Returns the id."
  deleteUser(id: ID!, cascade: Boolean! = false): ID
}`,
];

const { list, count } = listResolvers(listUsers, UserQuery);
const postsQuery = listQuery(strict(paging));

export const users: Resource = {
  sdl,
  Query: {
    users: list,
    usersCount: count,
    user: (_, { id }: ById, { loaders }) => loaders.user(id),
  },
  types: {
    User: {
      posts: async ({ id }: User, args: Arguments, operation, info) => {
        const { query, paged } = postsQuery(args);
        const selected = selectedFields(info);
        const members = postMembers.filter(member => selected.has(member));
        const { loaders, maxList } = operation;
        if (paged) return loaders.posts(id, { limit: query.limit, skip: skipped(query), members });
        // One more than the maximum tells whether there are more.
        const posts = await loaders.posts(id, { limit: maxList + 1, skip: 0, members });
        return wholeList(posts, posts.length > maxList, operation, info);
      },
      postsCount: async ({ id }: User, _, { loaders }) => (await loaders.postsCount(id)) ?? 0,
    },
  },
  Mutation: {
    createUser: creating(createUser, UserCreate),
    replaceUser: changing(changeUser, UserReplace),
    updateUser: changing(changeUser, UserUpdate),
    deleteUser: async (_, { id, cascade }: ById & { cascade: boolean }, { context }) => {
      await deleteUser(context, id, { cascade });
      return id;
    },
  },
};
