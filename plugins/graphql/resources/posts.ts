import { Post, PostCreate, PostQuery, PostReplace, PostUpdate } from '../../../schemas/post.ts';
import {
  changePost,
  createPost,
  deletePost,
  listPosts,
  post,
  postsOfUser,
} from '../../../src/services/posts.ts';
import { listFields } from '../fields/lists.ts';
import { mutationFields, recordFields } from '../fields/records.ts';
import { relationFields } from '../fields/relations.ts';
import type { Part } from '../part.ts';

export const posts: Part[] = [
  recordFields(post, Post),
  listFields({ ...post, record: Post }, PostQuery, listPosts),
  relationFields(postsOfUser, Post, PostQuery, listPosts),
  mutationFields(
    post,
    Post,
    { create: PostCreate, replace: PostReplace, update: PostUpdate },
    { create: createPost, change: changePost, remove: deletePost },
  ),
];
