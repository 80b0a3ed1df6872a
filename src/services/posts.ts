import { eq } from 'drizzle-orm';
import { posts } from '../../drizzle/tables.ts';
import type { Post, PostCreate, PostQuery, PostUpdate, postSorts } from '../../schemas/post.ts';
import { need } from '../access/need.ts';
import type { Context } from '../core/context.ts';
import { notFound, orNotFound } from '../core/errors.ts';
import { isId, newId } from '../core/ids.ts';
import { timeOfChange } from '../core/instants.ts';
import type { Page } from '../core/pages.ts';
import { orm } from '../database/connection.ts';
import { recordsById } from '../database/recordsById.ts';
import { untilUnlocked } from '../database/transaction.ts';
import { inTurn, inTurnOnceLocked } from '../database/turns.ts';
import { auditedDelete, auditedInsert, recordWrites } from './audit.ts';
import { pagedList } from './lists.ts';
import { changeRecord, changesTo } from './records.ts';

const byId = recordsById(posts);
const insertPost = auditedInsert(posts, 'post.create');
const removePost = auditedDelete(posts, 'post.delete');

const pageOfPosts = pagedList<Post, 'status' | 'author' | 'title', (typeof postSorts)[number]>({
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

/** One post; not found when the id is of no post, or no id at all. */
export async function getPost(context: Context, id: string): Promise<Post> {
  need(context, 'read');
  return orNotFound('Post', isId(id) ? await byId.one(context.db, id) : undefined);
}

/** The posts with these ids, by id. Ids of none are absent. */
export async function postsOfIds(context: Context, ids: string[]): Promise<Map<string, Post>> {
  need(context, 'read');
  return byId.many(context.db, ids.filter(isId));
}

/** The new post, a draft unless it says otherwise; invalid when the author does not exist. */
export async function createPost(context: Context, input: PostCreate): Promise<Post> {
  need(context, 'write');
  const time = context.now();
  const post = {
    id: newId(time.getTime()),
    title: input.title,
    status: input.status ?? 'draft',
    authorId: input.authorId,
    createdAt: time.toISOString(),
    updatedAt: time.toISOString(),
  };
  // The foreign key waits while somebody else locks the author.
  await inTurnOnceLocked(`posts of ${post.authorId}`, () => insertPost(context, post));
  return post;
}

/** The post as it is after the change, which may name all members or some; invalid when the author does not exist. */
export async function changePost(context: Context, id: string, input: PostUpdate): Promise<Post> {
  need(context, 'write');
  return changeRecord(context, id, async inside => {
    const db = orm(inside.db);
    const query = db.select().from(posts).where(eq(posts.id, id)).for('no key update');
    const [post] = isId(id) ? await query : [];
    const stored = orNotFound('Post', post);
    const changes = changesTo(stored, input);
    if (!changes) return stored;
    const written = { ...changes, updatedAt: timeOfChange(inside.now(), stored.updatedAt) };
    await db.update(posts).set(written).where(eq(posts.id, id));
    await recordWrites(inside, 'post.change', [{ recordId: id, changed: Object.keys(changes) }]);
    return { ...stored, ...written };
  });
}

export async function deletePost(context: Context, id: string): Promise<void> {
  need(context, 'write');
  if (!isId(id) || !(await inTurn(id, () => untilUnlocked(() => removePost(context, id)))))
    throw notFound('Post');
}
