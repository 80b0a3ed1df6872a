import { asc, count, eq, getTableColumns, sql } from 'drizzle-orm';
import { posts, users } from '../../drizzle/tables.ts';
import type { Post } from '../../schemas/post.ts';
import type { User } from '../../schemas/user.ts';
import { need } from '../access/need.ts';
import type { Context } from '../core/context.ts';
import { isId } from '../core/ids.ts';
import { type Orm, prepared } from '../database/database.ts';

// One parameter whatever the number of ids, so that there is one statement to prepare.
const ids = sql`string_to_array(${sql.placeholder('ids')}, ',')::uuid[]`;

export type PostMember = keyof Post;
export type PartOfPost = Pick<Post, 'id' | 'authorId'> & Partial<Post>;
/** Of these a caller may leave out what it does not show: that saves a sixth of a query with 400 posts. */
export const postMembers = Object.keys(getTableColumns(posts)) as PostMember[];

const usersById = prepared('users by ids', (db: Orm) =>
  db.select().from(users).where(sql`${users.id} = any(${ids})`),
);
const postsById = prepared('posts by ids', (db: Orm) =>
  db.select().from(posts).where(sql`${posts.id} = any(${ids})`),
);
const postCounts = prepared('post counts by authors', (db: Orm) =>
  db
    .select({ authorId: posts.authorId, total: count() })
    .from(posts)
    .where(sql`${posts.authorId} = any(${ids})`)
    .groupBy(posts.authorId),
);
const postsByAuthor = prepared('posts by authors', (db: Orm, members: string) => {
  const shown = Object.entries(getTableColumns(posts)).filter(([name]) => members.split(',').includes(name));
  const page = db
    .select({ id: posts.id, authorId: posts.authorId, ...Object.fromEntries(shown) })
    .from(posts)
    .where(eq(posts.authorId, sql`wanted.id`))
    .orderBy(asc(posts.id))
    .limit(sql.placeholder('limit'))
    .offset(sql.placeholder('skip'))
    .as('page');
  return db
    .select({ ...page._.selectedFields })
    .from(sql`unnest(${ids}) as wanted(id)`)
    .crossJoinLateral(page)
    .limit(sql.placeholder('most'));
});

/** The users with these ids, by id. Ids of nobody are absent. */
export async function usersOfIds(context: Context, wanted: string[]): Promise<Map<string, User>> {
  need(context, 'read');
  const rows = await usersById(context.db, 'only').execute({ ids: wanted.filter(isId).join() });
  return new Map(rows.map(user => [user.id, user]));
}

/** The posts with these ids, by id. Ids of none are absent. */
export async function postsOfIds(context: Context, wanted: string[]): Promise<Map<string, Post>> {
  need(context, 'read');
  const rows = await postsById(context.db, 'only').execute({ ids: wanted.filter(isId).join() });
  return new Map(rows.map(post => [post.id, post]));
}

/** How many posts each of these authors has. Who has none is absent. */
export async function countPostsOfAuthors(context: Context, authors: string[]): Promise<Map<string, number>> {
  need(context, 'read');
  const rows = await postCounts(context.db, 'only').execute({ ids: authors.join() });
  return new Map(rows.map(({ authorId, total }) => [authorId, total]));
}

interface Slice {
  limit: number;
  skip: number;
  most: number;
  /** What a post shall show besides its id and its author. */
  members: PostMember[];
}

/** The same slice of the posts of each author, in the order of creation; `most` bounds all of them together. */
export async function postsOfAuthors(
  context: Context,
  authors: string[],
  { members, ...slice }: Slice,
): Promise<Map<string, PartOfPost[]>> {
  need(context, 'read');
  const statement = postsByAuthor(context.db, members.toSorted().join());
  const rows: PartOfPost[] = await statement.execute({ ids: authors.join(), ...slice });
  const byAuthor = Map.groupBy(rows, post => post.authorId);
  // SQL promises no order across the join, although the slices come out sorted.
  for (const own of byAuthor.values()) own.sort((a, b) => (a.id < b.id ? -1 : 1));
  return byAuthor;
}
