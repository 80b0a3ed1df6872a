import { eq } from '../../drizzle/orm.ts';
import { posts } from '../../drizzle/tables.ts';
import type { Post, PostCreate, PostQuery, PostUpdate } from '../../schemas/post.ts';
import { need } from '../access/need.ts';
import type { Context } from '../core/context.ts';
import { notFound, orNotFound } from '../core/errors.ts';
import { isId } from '../core/ids.ts';
import type { Page } from '../core/pages.ts';
import { recordsById } from '../database/statements/recordsById.ts';
import { untilUnlocked } from '../database/transaction.ts';
import { inTurn, inTurnOnceLocked } from '../database/turns.ts';
import { auditedDelete, auditedInsert } from './audit.ts';
import { pagedList } from './lists.ts';
import { changeRecord, newRecord } from './records.ts';

const byId = recordsById(posts);
const insertPost = auditedInsert(posts, 'post.create');
const removePost = auditedDelete(posts, 'post.delete');

const pageOfPosts = pagedList<Post, 'status' | 'author' | 'title', 'createdAt' | 'title'>({
  table: posts,
  filters: {
    status: value => eq(posts.status, value),
    author: value => eq(posts.authorId, value),
    title: value => eq(posts.title, value),
  },
  counted: { status: posts.status, author: posts.authorId },
  sorts: { createdAt: [], title: [posts.title] },
});

/** A page of posts. */
export async function listPosts(context: Context, query: PostQuery): Promise<Page<Post>> {
  need(context, 'read');
  return pageOfPosts(context, query);
}

/** One post; not found for any other text. */
export async function getPost(context: Context, id: string): Promise<Post> {
  need(context, 'read');
  return orNotFound('Post', isId(id) ? await byId.one(context.db, id) : undefined);
}

/** The posts with these ids, by id. Unknown ids are absent. */
export async function postsOfIds(context: Context, ids: string[]): Promise<Map<string, Post>> {
  need(context, 'read');
  return byId.many(context.db, ids.filter(isId));
}

/** The new post, a draft by default; invalid when the author does not exist. */
export async function createPost(context: Context, input: PostCreate): Promise<Post> {
  need(context, 'write');
  const post = { ...input, status: input.status ?? 'draft', ...newRecord(context) };
  // The foreign key waits for a lock on the author.
  await inTurnOnceLocked(`posts of ${post.authorId}`, () => insertPost(context, post));
  return post;
}

/** The post after the change, which may name all members or some; invalid when the author does not exist. */
export async function changePost(context: Context, id: string, input: PostUpdate): Promise<Post> {
  need(context, 'write');
  return changeRecord(context, { table: posts, name: 'Post', action: 'post.change' }, id, input);
}

export async function deletePost(context: Context, id: string): Promise<void> {
  need(context, 'write');
  if (!isId(id) || !(await inTurn(id, () => untilUnlocked(() => removePost(context, id)))))
    throw notFound('Post');
}
