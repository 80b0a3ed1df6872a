import type { TObject, TSchema } from '@sinclair/typebox';
import { buildSchema } from 'graphql';
import { idPattern } from '../../schemas/common.ts';
import { Post, PostCreate, PostReplace, PostUpdate, postSorts, postStatuses } from '../../schemas/post.ts';
import { Subscription, subscriptionSorts, subscriptionStatuses } from '../../schemas/subscription.ts';
import { User, UserCreate, UserReplace, UserUpdate, userSorts } from '../../schemas/user.ts';

/** The enum types, by the values that the schemas share. */
const enums = new Map<unknown, string>([
  [postStatuses, 'PostStatus'],
  [subscriptionStatuses, 'SubscriptionStatus'],
]);

const described = (text = '') => JSON.stringify(text.replaceAll('`', ''));

function scalarOf(schema: TSchema): string {
  if (schema.enum) return enums.get(schema.enum) ?? 'String';
  if (schema.pattern === idPattern) return 'ID';
  if (schema.format === 'date-time') return 'DateTime';
  return { integer: 'Int', boolean: 'Boolean' }[schema.type as string] ?? 'String';
}

const mayBeNull = ({ type }: TSchema) => Array.isArray(type) && type.includes('null');

/** A type with the members of a schema: the public source of both doors. */
function toSDL(kind: 'type' | 'input', name: string, { properties, required = [], description }: TObject) {
  const fields = Object.entries(properties).map(
    ([field, schema]) =>
      `${described(schema.description)} ${field}: ${scalarOf(schema)}${required.includes(field) && !mayBeNull(schema) ? '!' : ''}`,
  );
  return `${described(description)} ${kind} ${name} {\n${fields.join('\n')}\n}`;
}

const toEnum = (name: string, description: string, values: readonly string[]) =>
  `${described(description)} enum ${name} { ${values.join(' ')} }`;

/** GraphQL has no name with a sign: what REST calls `-title` is `title_desc` here. */
const directions = (fields: readonly string[]) => fields.flatMap(field => [field, `${field}_desc`]);
export const sortOf = (name: string) => name.replace(/^(\w+)_desc$/, '-$1');

const order = 'The order of a list. Equal values follow in the order of creation.';
const derived = [
  toEnum('PostStatus', 'Whether a post is published.', postStatuses),
  toEnum('UserSort', order, directions(userSorts)),
  toEnum('PostSort', order, directions(postSorts)),
  toEnum('SubscriptionStatus', 'The state of a subscription.', subscriptionStatuses),
  toEnum('SubscriptionSort', order, directions(subscriptionSorts)),
  // GraphQL takes a type named Subscription for something else.
  toSDL('type', 'CustomerSubscription', Subscription),
  toSDL('type', 'User', User),
  toSDL('type', 'Post', Post),
  toSDL('input', 'UserCreateInput', UserCreate),
  toSDL('input', 'UserReplaceInput', UserReplace),
  toSDL('input', 'UserUpdateInput', UserUpdate),
  toSDL('input', 'PostCreateInput', PostCreate),
  toSDL('input', 'PostReplaceInput', PostReplace),
  toSDL('input', 'PostUpdateInput', PostUpdate),
];

// Relations and operations are rules, so they are written by hand.
const written = /* GraphQL */ `
"An instant, RFC 3339 in UTC."
scalar DateTime @specifiedBy(url: "https://scalars.graphql.org/andimarek/date-time")

extend type User {
  "The posts of the user, in the order of creation: all of them up to a maximum, or one page."
  posts(page: Int, limit: Int): [Post!]!
  "How many posts the user has."
  postsCount: Int!
}

extend type Post {
  "The user who wrote the post."
  author: User!
}

type Query {
  "The users: all of them up to a maximum, or one page when page or limit is given."
  users(page: Int, limit: Int, sort: UserSort, name: String, email: String): [User!]!
  "How many users there are, on all pages together."
  usersCount(name: String, email: String): Int!
  "One user, or null."
  user(id: ID!): User
  "The posts: all of them up to a maximum, or one page when page or limit is given."
  posts(page: Int, limit: Int, sort: PostSort, status: PostStatus, author: ID, title: String): [Post!]!
  "How many posts there are, on all pages together."
  postsCount(status: PostStatus, author: ID, title: String): Int!
  "One post, or null."
  post(id: ID!): Post
  "What customers have paid for: all of it up to a maximum, or one page when page or limit is given."
  subscriptions(
    page: Int
    limit: Int
    sort: SubscriptionSort
    status: SubscriptionStatus
    provider: String
  ): [CustomerSubscription!]!
  "How many subscriptions there are, on all pages together."
  subscriptionsCount(status: SubscriptionStatus, provider: String): Int!
  "The subscription of a customer, or null. A customer of several providers needs the provider."
  subscription(customer: ID!, provider: String): CustomerSubscription
}

# A field that fails is null, so that it does not take the results of the other mutations with it.
type Mutation {
  createUser(input: UserCreateInput!): User
  "Replaces a user completely."
  replaceUser(id: ID!, input: UserReplaceInput!): User
  "Updates a user partially: members that are absent stay as they are."
  updateUser(id: ID!, input: UserUpdateInput!): User
  "Deletes a user who has no posts, or with cascade the posts too. Returns the id."
  deleteUser(id: ID!, cascade: Boolean! = false): ID
  createPost(input: PostCreateInput!): Post
  "Replaces a post completely."
  replacePost(id: ID!, input: PostReplaceInput!): Post
  "Updates a post partially: members that are absent stay as they are."
  updatePost(id: ID!, input: PostUpdateInput!): Post
  "Deletes a post. Returns the id."
  deletePost(id: ID!): ID
}
`;

export const makeSchema = () => buildSchema([...derived, written].join('\n\n'));
