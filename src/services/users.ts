import { count, eq, sql } from '../../drizzle/orm.ts';
import { posts, users } from '../../drizzle/tables.ts';
import type { User, UserCreate, UserQuery, UserUpdate } from '../../schemas/user.ts';
import { need } from '../access/need.ts';
import type { Context } from '../core/context.ts';
import { AppError, orNotFound } from '../core/errors.ts';
import { isId } from '../core/ids.ts';
import type { Page } from '../core/pages.ts';
import { orm } from '../database/connection.ts';
import { recordsById } from '../database/statements/recordsById.ts';
import { inTransaction } from '../database/transaction.ts';
import { inTurn, inTurnOnceLocked } from '../database/turns.ts';
import { auditedInsert, recordWrites } from './audit.ts';
import { pagedList } from './lists.ts';
import { changeRecord, lockRecord, newRecord } from './records.ts';

const byId = recordsById(users);
const insertUser = auditedInsert(users, 'user.create');

const pageOfUsers = pagedList<User, 'name' | 'email', 'createdAt' | 'name' | 'email'>({
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

/** One user; not found for any other text. */
export async function getUser(context: Context, id: string): Promise<User> {
  need(context, 'read');
  return orNotFound('User', isId(id) ? await byId.one(context.db, id) : undefined);
}

/** The users with these ids, by id. Unknown ids are absent. */
export async function usersOfIds(context: Context, ids: string[]): Promise<Map<string, User>> {
  need(context, 'read');
  return byId.many(context.db, ids.filter(isId));
}

/** The new user; a conflict when the address is taken. */
export async function createUser(context: Context, input: UserCreate): Promise<User> {
  need(context, 'write');
  const user = { ...input, ...newRecord(context) };
  // The unique index waits for other writes of this address.
  await inTurnOnceLocked(input.email.toLowerCase(), () => insertUser(context, user));
  return user;
}

/** The user after the change, which may name all members or some; a conflict when the address is taken. */
export async function changeUser(context: Context, id: string, input: UserUpdate): Promise<User> {
  need(context, 'write');
  return changeRecord(context, { table: users, name: 'User', action: 'user.change' }, id, input);
}

/** Posts that are deleted with their user: one transaction within a fraction of the request timeout. */
const maxCascade = 10_000;

/** Deletes a user without posts, or with `cascade` the posts too, unless they are very many. */
export async function deleteUser(
  context: Context,
  id: string,
  { cascade }: { cascade: boolean },
): Promise<void> {
  need(context, 'write');
  const remove = async (inside: Context) => {
    const db = orm(inside.db);
    // The stronger lock keeps new posts of this user out.
    orNotFound('User', await lockRecord(inside, users, id, 'update'));
    const ofUser = eq(posts.authorId, id);
    const [{ total } = { total: 0 }] = await db.select({ total: count() }).from(posts).where(ofUser);
    refusePosts(total, cascade);
    if (total > 0) {
      const deleted = await db.delete(posts).where(ofUser).returning({ recordId: posts.id });
      await recordWrites(inside, 'post.delete', deleted);
    }
    await db.delete(users).where(eq(users.id, id));
    await recordWrites(inside, 'user.delete', [{ recordId: id }]);
  };
  await inTurn(id, () => inTransaction(context, remove));
}

function refusePosts(total: number, cascade: boolean): void {
  if (total > 0 && !cascade)
    throw new AppError('conflict', 'The user still has posts. Delete them first, or with `?cascade=true`.', {
      code: 'user_has_posts',
      posts: total,
    });
  if (total > maxCascade)
    throw new AppError(
      'conflict',
      `The user has ${total} posts, and at most ${maxCascade} are deleted with a user. Delete some of them first.`,
      { code: 'too_many_posts', posts: total, maximum: maxCascade },
    );
}
