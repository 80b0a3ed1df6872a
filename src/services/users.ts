import { count, eq, sql } from 'drizzle-orm';
import { posts, users } from '../../drizzle/tables.ts';
import type { User, UserCreate, UserQuery, UserUpdate, userSorts } from '../../schemas/user.ts';
import { need } from '../access/need.ts';
import type { Context } from '../core/context.ts';
import { AppError, orNotFound } from '../core/errors.ts';
import { isId, newId } from '../core/ids.ts';
import { timeOfChange } from '../core/instants.ts';
import type { Page } from '../core/pages.ts';
import { orm } from '../database/connection.ts';
import { recordsById } from '../database/recordsById.ts';
import { inTurnOnceLocked } from '../database/turns.ts';
import { auditedInsert, recordWrites } from './audit.ts';
import { pagedList } from './lists.ts';
import { changeRecord, changesTo } from './records.ts';

const byId = recordsById(users);
const insertUser = auditedInsert(users, 'user.create');

const pageOfUsers = pagedList<User, 'name' | 'email', (typeof userSorts)[number]>({
  table: users,
  filters: {
    name: value => eq(users.name, value),
    email: value => eq(sql`lower(${users.email})`, sql`lower(${value} collate "C")`),
  },
  sorts: { createdAt: [], name: [users.name], email: [sql`lower(${users.email})`] },
});

/** A page of users. */
export async function listUsers(context: Context, query: UserQuery): Promise<Page<User>> {
  need(context, 'read');
  return pageOfUsers(context, query);
}

/** One user; not found when the id is of no user, or no id at all. */
export async function getUser(context: Context, id: string): Promise<User> {
  need(context, 'read');
  return orNotFound('User', isId(id) ? await byId.one(context.db, id) : undefined);
}

/** The users with these ids, by id. Ids of nobody are absent. */
export async function usersOfIds(context: Context, ids: string[]): Promise<Map<string, User>> {
  need(context, 'read');
  return byId.many(context.db, ids.filter(isId));
}

/** The new user; a conflict when the address is taken. */
export async function createUser(context: Context, input: UserCreate): Promise<User> {
  need(context, 'write');
  const time = context.now();
  const user = {
    id: newId(time.getTime()),
    ...input,
    createdAt: time.toISOString(),
    updatedAt: time.toISOString(),
  };
  // The unique index waits for others who create or take this address.
  await inTurnOnceLocked(input.email.toLowerCase(), () => insertUser(context, user));
  return user;
}

/** The user as it is after the change, which may name all members or some; a conflict when the address is taken. */
export async function changeUser(context: Context, id: string, input: UserUpdate): Promise<User> {
  need(context, 'write');
  return changeRecord(context, id, async inside => {
    // Their posts go on being written: the id, which is all that these refer to, does not change.
    const stored = await lockUser(inside, id, 'no key update');
    const changes = changesTo(stored, input);
    if (!changes) return stored;
    const written = { ...changes, updatedAt: timeOfChange(inside.now(), stored.updatedAt) };
    await orm(inside.db).update(users).set(written).where(eq(users.id, id));
    await recordWrites(inside, 'user.change', [{ recordId: id, changed: Object.keys(changes) }]);
    return { ...stored, ...written };
  });
}

/** Posts that are deleted with their user, all in one transaction, within a fraction of the time that a request has. */
const mostCascaded = 10_000;

/** Deletes a user who has no posts, or with `cascade` the posts too, unless they are very many. */
export async function deleteUser(
  context: Context,
  id: string,
  { cascade }: { cascade: boolean },
): Promise<void> {
  need(context, 'write');
  await changeRecord(context, id, async inside => {
    const db = orm(inside.db);
    // Keeps new posts of this user out until the end.
    await lockUser(inside, id, 'update');
    const [{ total } = { total: 0 }] = await db
      .select({ total: count() })
      .from(posts)
      .where(eq(posts.authorId, id));
    if (total > 0 && !cascade) throw hasPosts(total);
    if (total > mostCascaded) throw hasTooManyPosts(total);
    if (total > 0) await deletePostsOf(inside, id);
    await db.delete(users).where(eq(users.id, id));
    await recordWrites(inside, 'user.delete', [{ recordId: id }]);
  });
}

async function lockUser({ db }: Context, id: string, lock: 'update' | 'no key update'): Promise<User> {
  const [user] = isId(id) ? await orm(db).select().from(users).where(eq(users.id, id)).for(lock) : [];
  return orNotFound('User', user);
}

async function deletePostsOf(inside: Context, authorId: string): Promise<void> {
  const gone = await orm(inside.db)
    .delete(posts)
    .where(eq(posts.authorId, authorId))
    .returning({ recordId: posts.id });
  await recordWrites(inside, 'post.delete', gone);
}

const hasPosts = (total: number) =>
  new AppError('conflict', 'The user still has posts. Delete them first, or with `?cascade=true`.', {
    code: 'user_has_posts',
    posts: total,
  });

const hasTooManyPosts = (total: number) =>
  new AppError(
    'conflict',
    `The user has ${total} posts, and at most ${mostCascaded} are deleted with a user. Delete some of them first.`,
    { code: 'too_many_posts', posts: total, maximum: mostCascaded },
  );
