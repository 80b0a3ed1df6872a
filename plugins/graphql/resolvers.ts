import { GraphQLError, type GraphQLResolveInfo, responsePathAsArray } from 'graphql';
import type { IResolvers, MercuriusContext } from 'mercurius';
import type { Post } from '../../schemas/post.ts';
import type { User } from '../../schemas/user.ts';
import type { Context } from '../../src/core/context.ts';
import { AppError, orNotFound, tookTooLong } from '../../src/core/errors.ts';
import { type Page, type PageRequest, skipped } from '../../src/core/pages.ts';
import { changePost, createPost, deletePost, listPosts } from '../../src/services/posts.ts';
import { postMembers } from '../../src/services/relations.ts';
import { getSubscription, listSubscriptions } from '../../src/services/subscriptions.ts';
import { changeUser, createUser, deleteUser, listUsers } from '../../src/services/users.ts';
import { type Arguments, inputs, postQuery, slice, subscriptionQuery, userQuery } from './inputs.ts';
import type { Loaders } from './loaders.ts';
import type { Allowance } from './recordBudget.ts';
import { fieldsAsked } from './selection.ts';

/** One operation on its way: what its resolvers share, and nobody else. */
export interface Visit {
  context: Context;
  loaders: Loaders;
  allowance: Allowance;
  /** What a caller must know besides the errors: a list that is not whole. */
  notices: GraphQLError[];
  /** Whether the caller has an answer already: the request took too long. */
  isOver: () => boolean;
}

declare module 'mercurius' {
  interface MercuriusContext extends Visit {}
}

type OfId = { id: string };
type OfInput = { id: string; input: object };
type OfCustomer = { customer: string; provider?: string | null };
type Removal = { id: string; cascade: boolean };

/** Every field that is more than a member of its record. */
export function makeResolvers(maxList: number): IResolvers {
  /** All records up to the maximum, when no page was asked for; one more says that there are more. */
  function whole<T>(records: T[], more: boolean, { notices }: Visit, info: GraphQLResolveInfo): T[] {
    if (more) notices.push(truncated(maxList, info));
    return records.slice(0, maxList);
  }

  async function list<Q extends PageRequest, T>(
    read: (context: Context, query: Q) => Promise<Page<T>>,
    { query, paged }: { query: Q; paged: boolean },
    visit: Visit,
    info: GraphQLResolveInfo,
  ): Promise<T[]> {
    const asked = paged ? query : { ...query, page: 1, limit: maxList };
    const { data, meta } = await read(visit.context, asked);
    visit.allowance.take(data);
    return paged ? data : whole(data, meta.total > data.length, visit, info);
  }

  return {
    Query: {
      users: (_, given: Arguments, visit, info) => list(listUsers, userQuery(given), visit, info),
      posts: (_, given: Arguments, visit, info) => list(listPosts, postQuery(given), visit, info),
      usersCount: (_, given: Arguments, { context }) => total(listUsers(context, userQuery(given).query)),
      postsCount: (_, given: Arguments, { context }) => total(listPosts(context, postQuery(given).query)),
      user: (_, { id }: OfId, { loaders }) => loaders.user(id),
      post: (_, { id }: OfId, { loaders }) => loaders.post(id),
      subscriptions: (_, given: Arguments, visit, info) =>
        list(listSubscriptions, subscriptionQuery(given), visit, info),
      subscriptionsCount: (_, given: Arguments, { context }) =>
        total(listSubscriptions(context, subscriptionQuery(given).query)),
      subscription: (_, { customer, provider }: OfCustomer, { context }) =>
        orNull(getSubscription(context, customer, provider ?? undefined)),
    },
    User: {
      posts: async ({ id }: User, given: Arguments, visit, info) => {
        const { query, paged } = slice(given);
        const asked = fieldsAsked(info);
        const members = postMembers.filter(member => asked.has(member));
        if (paged) return visit.loaders.posts(id, { limit: query.limit, skip: skipped(query), members });
        const posts = await visit.loaders.posts(id, { limit: maxList + 1, skip: 0, members });
        return whole(posts, posts.length > maxList, visit, info);
      },
      postsCount: async ({ id }: User, _, { loaders }) => (await loaders.postsCount(id)) ?? 0,
    },
    Post: {
      author: async ({ authorId }: Post, _, { loaders }) => orNotFound('User', await loaders.user(authorId)),
    },
    Mutation: unlessOver({
      createUser: (_, { input }: OfInput, { context }) => createUser(context, inputs.userCreate(input)),
      replaceUser: (_, { id, input }: OfInput, { context }) =>
        changeUser(context, id, inputs.userReplace(input)),
      updateUser: (_, { id, input }: OfInput, { context }) =>
        changeUser(context, id, inputs.userUpdate(input)),
      deleteUser: async (_, { id, cascade }: Removal, { context }) => {
        await deleteUser(context, id, { cascade });
        return id;
      },
      createPost: (_, { input }: OfInput, { context }) => createPost(context, inputs.postCreate(input)),
      replacePost: (_, { id, input }: OfInput, { context }) =>
        changePost(context, id, inputs.postReplace(input)),
      updatePost: (_, { id, input }: OfInput, { context }) =>
        changePost(context, id, inputs.postUpdate(input)),
      deletePost: async (_, { id }: OfId, { context }) => {
        await deletePost(context, id);
        return id;
      },
    }),
  };
}

type Mutation = (root: unknown, given: never, visit: MercuriusContext) => Promise<unknown>;

/** A caller that was told to try again does the rest of the mutations again: here none of them may begin after that. */
function unlessOver<M extends Record<string, Mutation>>(mutations: M): M {
  const guarded = Object.entries(mutations).map(([name, mutate]) => [
    name,
    (root: unknown, given: never, visit: MercuriusContext) => {
      if (visit.isOver()) throw tookTooLong();
      return mutate(root, given, visit);
    },
  ]);
  return Object.fromEntries(guarded) as M;
}

/** What REST answers with 404 is null here. */
const orNull = <T>(record: Promise<T>) =>
  record.catch(error => {
    if (error instanceof AppError && error.code === 'not_found') return null;
    throw error;
  });

const total = async (page: Promise<Page<unknown>>) => (await page).meta.total;

const truncated = (maximum: number, info: GraphQLResolveInfo) =>
  new GraphQLError(
    `The list has more than ${maximum} records; these are the first. Ask with page and limit.`,
    {
      nodes: info.fieldNodes,
      path: responsePathAsArray(info.path),
      extensions: { code: 'LIST_TRUNCATED', maximum },
    },
  );
