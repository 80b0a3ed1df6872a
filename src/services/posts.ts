import { eq, sql } from 'drizzle-orm';
import { posts } from '../../drizzle/tables.ts';
import type { Post, PostCreate, PostUpdate, postSorts } from '../../schemas/post.ts';
import type { Context } from '../core/context.ts';
import { inTransaction, type Orm, prepared } from '../core/database.ts';
import { found, notFound } from '../core/errors.ts';
import { isId, newId } from '../core/ids.ts';
import { sharedInsert, sharedRead } from '../core/sharedRows.ts';
import { listing } from './lists.ts';
import { changesTo } from './records.ts';

const byIds = prepared('posts by ids', (db: Orm) =>
  db
    .select()
    .from(posts)
    .where(sql`${posts.id} = any(${sql.placeholder('ids')}::text::uuid[])`),
);
const readPost = sharedRead((db, ids) => byIds(db, 'only').execute({ ids }));
const insertPost = sharedInsert(posts, 'post insertion');

/** A page of posts. */
export const listPosts = listing<Post, 'status' | 'author' | 'title', (typeof postSorts)[number]>('posts', {
  table: posts,
  filters: {
    status: value => eq(posts.status, value),
    author: value => eq(posts.authorId, value),
    title: value => eq(posts.title, value),
  },
  counted: { status: posts.status, author: posts.authorId },
  sorts: { createdAt: [], title: [posts.title] },
});

/** One post; not found when the id is of no post, or no id at all. */
export async function getPost({ db }: Context, id: string): Promise<Post> {
  return found('Post', isId(id) ? await readPost(db, id) : undefined);
}

/** The new post, a draft unless it says otherwise; invalid when the author does not exist. */
export async function createPost({ db, now }: Context, input: PostCreate): Promise<Post> {
  const time = now();
  const post = {
    id: newId(time.getTime()),
    title: input.title,
    status: input.status ?? 'draft',
    authorId: input.authorId,
    createdAt: time.toISOString(),
    updatedAt: time.toISOString(),
  };
  await insertPost(db, post);
  return post;
}

/** The post as it is after the change, which may name all members or some; invalid when the author does not exist. */
export async function changePost(context: Context, id: string, input: PostUpdate): Promise<Post> {
  return inTransaction(context, async ({ db, now }) => {
    const [post] = isId(id) ? await db.select().from(posts).where(eq(posts.id, id)).for('update') : [];
    const stored = found('Post', post);
    const changes = changesTo(stored, input);
    if (!changes) return stored;
    const written = { ...changes, updatedAt: now().toISOString() };
    await db.update(posts).set(written).where(eq(posts.id, id));
    return { ...stored, ...written };
  });
}

export async function deletePost({ db }: Context, id: string): Promise<void> {
  const deleted = isId(id) ? await db.delete(posts).where(eq(posts.id, id)).returning({ id: posts.id }) : [];
  if (deleted.length === 0) throw notFound('Post');
}
