import { posts } from '../../drizzle/tables/posts.ts';
import type { Post, PostCreate, PostUpdate, postSorts } from '../../schemas/post.ts';
import type { Removal } from '../../schemas/records.ts';
import { need } from '../access/need.ts';
import type { Context } from '../core/context.ts';
import { orNotFound } from '../core/errors.ts';
import { recordsById } from '../database/statements/recordsById.ts';
import { inTurnOnceLocked } from '../database/turns.ts';
import { insertionOf } from './audit.ts';
import { removalOf } from './deletions.ts';
import { pagedList } from './lists.ts';
import { changeRecord, newRecord } from './records.ts';
import { belongsTo } from './relations.ts';
import { user } from './users.ts';

export const post = { name: 'post', plural: 'posts', table: posts } as const;

/** The posts of each author. */
export const postsOfUser = belongsTo({
  parent: user,
  child: post,
  column: posts.authorId,
  cascade: 'on request',
});

const byId = recordsById(posts);
const insertPost = insertionOf(post);
const removePost = removalOf(post);

/** A page of posts. */
export const listPosts = pagedList<Post, 'title' | 'author' | 'status', (typeof postSorts)[number]>({
  scope: 'read',
  name: 'posts',
  table: posts,
  filters: { title: posts.title, author: posts.authorId, status: posts.status },
  counted: ['author', 'status'],
  sorts: { createdAt: [], title: [posts.title] },
});

/** One post; not found for any other text. */
export async function getPost(context: Context, id: string): Promise<Post> {
  need(context, 'read');
  return orNotFound('Post', await byId.one(context.db, id));
}

/** The posts with these ids, by id. Unknown ids are absent. */
export async function postsOfIds(context: Context, ids: string[]): Promise<Map<string, Post>> {
  need(context, 'read');
  return byId.many(context.db, ids);
}

/** The new post, a draft by default; invalid when the author does not exist. */
export async function createPost(context: Context, input: PostCreate): Promise<Post> {
  need(context, 'write');
  const created = { ...input, status: input.status ?? 'draft', ...newRecord(context) };
  // The foreign key waits for a lock on the author.
  await inTurnOnceLocked(`posts of ${created.authorId}`, () => insertPost(context, created));
  return created;
}

/** The post after the change, which may name all members or some; invalid when the author does not exist. */
export async function changePost(context: Context, id: string, input: PostUpdate): Promise<Post> {
  need(context, 'write');
  return changeRecord(context, post, id, input);
}

/** Deletes a post; not found when there is none. */
export async function deletePost(context: Context, id: string, options: Removal): Promise<void> {
  need(context, 'write');
  await removePost(context, id, options);
}
