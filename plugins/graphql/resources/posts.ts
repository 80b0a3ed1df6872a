import { Post, PostCreate, PostQuery, PostReplace, PostUpdate } from '../../../schemas/post.ts';
import { orNotFound } from '../../../src/core/errors.ts';
import { changePost, createPost, deletePost, listPosts } from '../../../src/services/posts.ts';
import { type ById, changing, creating } from '../inputs.ts';
import { toEnum, toInput, toSortEnum, toType } from '../sdl.ts';
import { listResolvers } from './lists.ts';
import type { Resource } from './resource.ts';

const enums = { status: 'PostStatus' };
const sdl = [
  toEnum('PostStatus', Post.properties.status),
  toSortEnum('PostSort', PostQuery),
  toType(Post, enums),
  toInput(PostCreate, enums),
  toInput(PostReplace, enums),
  toInput(PostUpdate, enums),
  /* GraphQL */ `
extend type Post {
  "The user who wrote the post."
  author: User!
}

extend type Query {
  "The posts: all of them up to a maximum, or one page if page or limit is given."
  posts(page: Int, limit: Int, sort: PostSort, status: PostStatus, author: ID, title: String): [Post!]!
  "How many posts there are, on all pages together."
  postsCount(status: PostStatus, author: ID, title: String): Int!
  "One post, or null."
  post(id: ID!): Post
}

extend type Mutation {
  "Creates a post."
  createPost(input: PostCreateInput!): Post
  "Replaces a post completely."
  replacePost(id: ID!, input: PostReplaceInput!): Post
  "Updates a post partially: members that are absent stay as they are."
  updatePost(id: ID!, input: PostUpdateInput!): Post
  "Deletes a post. Returns the id."
  deletePost(id: ID!): ID
}`,
];

const { list, count } = listResolvers(listPosts, PostQuery);

export const posts: Resource = {
  sdl,
  Query: {
    posts: list,
    postsCount: count,
    post: (_, { id }: ById, { loaders }) => loaders.post(id),
  },
  types: {
    Post: {
      author: async ({ authorId }: Post, _, { loaders }) => orNotFound('User', await loaders.user(authorId)),
    },
  },
  Mutation: {
    createPost: creating(createPost, PostCreate),
    replacePost: changing(changePost, PostReplace),
    updatePost: changing(changePost, PostUpdate),
    deletePost: async (_, { id }: ById, { context }) => {
      await deletePost(context, id);
      return id;
    },
  },
};
