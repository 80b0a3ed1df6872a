import { eq, sql } from 'drizzle-orm';
import { posts } from '../../drizzle/tables.ts';
import type { Post, PostCreate, PostQuery, PostUpdate, postSorts } from '../../schemas/post.ts';
import type { Context } from '../core/context.ts';
import { inTransaction, type Orm, prepared } from '../core/database.ts';
import { found, notFound } from '../core/errors.ts';
import { isId, newId } from '../core/ids.ts';
import type { Page } from '../core/pages.ts';
import { need } from './access.ts';
import { audited, entryOf, recordWrites } from './audit.ts';
import { listing } from './lists.ts';
import { changesTo } from './records.ts';

const byId = prepared('post by id', (db: Orm) =>
  db
    .select()
    .from(posts)
    .where(eq(posts.id, sql.placeholder('id'))),
);
const insertion = prepared('post insertion', (db: Orm) =>
  audited(
    db,
    db.insert(posts).values({
      id: sql.placeholder('id'),
      title: sql.placeholder('title'),
      status: sql.placeholder('status'),
      authorId: sql.placeholder('authorId'),
      createdAt: sql.placeholder('createdAt'),
      updatedAt: sql.placeholder('updatedAt'),
    }),
    posts.id,
  ),
);
const deletion = prepared('post deletion', (db: Orm) =>
  audited(db, db.delete(posts).where(eq(posts.id, sql.placeholder('id'))), posts.id),
);

const pageOfPosts = listing<Post, 'status' | 'author' | 'title', (typeof postSorts)[number]>('posts', {
  table: posts,
  filters: {
    status: value => eq(posts.status, value),
    author: value => eq(posts.authorId, value),
    title: value => eq(posts.title, value),
  },
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
  const [post] = isId(id) ? await byId(context.db, 'only').execute({ id }) : [];
  return found('Post', post);
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
  await insertion(context.db, 'only').execute({ ...post, ...entryOf(context, 'post.create', post.id) });
  return post;
}

/** The post as it is after the change, which may name all members or some; invalid when the author does not exist. */
export async function changePost(context: Context, id: string, input: PostUpdate): Promise<Post> {
  need(context, 'write');
  return inTransaction(context, async inside => {
    const { db, now } = inside;
    const [post] = isId(id) ? await db.select().from(posts).where(eq(posts.id, id)).for('update') : [];
    const stored = found('Post', post);
    const changes = changesTo(stored, input);
    if (!changes) return stored;
    const written = { ...changes, updatedAt: now().toISOString() };
    await db.update(posts).set(written).where(eq(posts.id, id));
    await recordWrites(inside, 'post.change', [id], Object.keys(changes));
    return { ...stored, ...written };
  });
}

export async function deletePost(context: Context, id: string): Promise<void> {
  need(context, 'write');
  const values = { id, ...entryOf(context, 'post.delete', id) };
  const deleted = isId(id) ? await deletion(context.db, 'only').execute(values) : [];
  if (deleted.length === 0) throw notFound('Post');
}
