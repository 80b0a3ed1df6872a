import { posts } from '../../drizzle/tables/posts.ts';
import type { Post, PostCreate, postSorts } from '../../schemas/post.ts';
import { need } from '../access/need.ts';
import type { Context } from '../core/context.ts';
import { write } from '../database/write.ts';
import { insertionOf } from './audit.ts';
import { removalOf } from './deletions.ts';
import { kindOf } from './kinds.ts';
import { pagedList } from './lists/pagedList.ts';
import { changeOf } from './records.ts';
import { belongsTo } from './relations.ts';
import { user } from './users.ts';

export const post = kindOf('post', 'posts', posts);

export const postsOfUser = belongsTo(post, posts.authorId, user);

const insertPost = insertionOf(post);

/** A page of posts. */
export const listPosts = pagedList<Post, 'title' | 'author' | 'status', (typeof postSorts)[number]>({
  ...post,
  scope: 'read',
  filters: { title: posts.title, author: posts.authorId, status: posts.status },
  counted: ['status'],
  sorts: { createdAt: [], title: [posts.title] },
});

/** The new post, a draft by default; invalid when the author does not exist. */
export async function createPost(context: Context, input: PostCreate): Promise<Post> {
  need(context, 'write');
  const members = { ...input, status: input.status ?? 'draft' };
  // The foreign key waits for a lock on the author.
  const turns = [`posts of ${input.authorId}`];
  return write(context, inside => insertPost(inside, members), { turns, shared: true });
}

/** The post after the change, which may name all members or some; invalid when the author does not exist. */
export const changePost = changeOf(post);

/** Deletes a post; not found when there is none. */
export const deletePost = removalOf(post);
