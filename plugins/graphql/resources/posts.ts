import { Post, PostCreate, PostQuery, PostReplace, PostUpdate } from '../../../schemas/post.ts';
import {
  changePost,
  createPost,
  deletePost,
  listPosts,
  post,
  postsOfIds,
  postsOfUser,
} from '../../../src/services/posts.ts';
import { usersOfIds } from '../../../src/services/users.ts';
import { listFields } from '../fields/lists.ts';
import { mutationFields, recordFields } from '../fields/records.ts';
import { relationFields } from '../fields/relations.ts';
import type { Part } from '../part.ts';

export const posts: Part[] = [
  recordFields(post, Post, postsOfIds),
  listFields({ ...post, record: Post }, PostQuery, listPosts),
  relationFields(postsOfUser, Post, usersOfIds),
  mutationFields(
    post,
    Post,
    { create: PostCreate, replace: PostReplace, update: PostUpdate },
    { create: createPost, change: changePost, remove: deletePost },
  ),
];
