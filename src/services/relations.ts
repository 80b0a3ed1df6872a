import { asc, count, eq, getTableColumns, sql } from 'drizzle-orm';
import { posts, users } from '../../drizzle/tables.ts';
import type { Post } from '../../schemas/post.ts';
import type { User } from '../../schemas/user.ts';
import type { Context } from '../core/context.ts';
import { type Orm, prepared } from '../core/database.ts';
import { isId } from '../core/ids.ts';

// One parameter whatever the number of ids, so that there is one statement to prepare.
const ids = sql`string_to_array(${sql.placeholder('ids')}, ',')::uuid[]`;

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
const postsByAuthor = prepared('posts by authors', (db: Orm) => {
  const page = db
    .select(getTableColumns(posts))
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
export async function usersOfIds({ db }: Context, wanted: string[]): Promise<Map<string, User>> {
  const rows = await usersById(db, 'only').execute({ ids: wanted.filter(isId).join() });
  return new Map(rows.map(user => [user.id, user]));
}

/** The posts with these ids, by id. Ids of none are absent. */
export async function postsOfIds({ db }: Context, wanted: string[]): Promise<Map<string, Post>> {
  const rows = await postsById(db, 'only').execute({ ids: wanted.filter(isId).join() });
  return new Map(rows.map(post => [post.id, post]));
}

/** How many posts each of these authors has. Who has none is absent. */
export async function countPostsOfAuthors({ db }: Context, authors: string[]): Promise<Map<string, number>> {
  const rows = await postCounts(db, 'only').execute({ ids: authors.join() });
  return new Map(rows.map(({ authorId, total }) => [authorId, total]));
}

/** The same slice of the posts of each author, in the order of creation; `most` bounds all of them together. */
export async function postsOfAuthors(
  { db }: Context,
  authors: string[],
  slice: { limit: number; skip: number; most: number },
): Promise<Map<string, Post[]>> {
  const rows = await postsByAuthor(db, 'only').execute({ ids: authors.join(), ...slice });
  const byAuthor = Map.groupBy(rows as Post[], post => post.authorId);
  // SQL promises no order across the join, although the slices come out sorted.
  for (const own of byAuthor.values()) own.sort((a, b) => (a.id < b.id ? -1 : 1));
  return byAuthor;
}
