import { eq, sql } from '../../drizzle/orm.ts';
import { users } from '../../drizzle/tables/users.ts';
import type { Removal } from '../../schemas/records.ts';
import type { User, UserCreate, UserUpdate, userSorts } from '../../schemas/user.ts';
import { need } from '../access/need.ts';
import { conflict } from '../core/conflicts.ts';
import type { Context } from '../core/context.ts';
import { orNotFound } from '../core/errors.ts';
import { recordsById } from '../database/statements/recordsById.ts';
import { inTurnOnceLocked } from '../database/turns.ts';
import { insertionOf } from './audit.ts';
import { removalOf } from './deletions.ts';
import { pagedList } from './lists.ts';
import { changeRecord, newRecord } from './records.ts';
import { refuse } from './refusals.ts';

export const user = { name: 'user', plural: 'users', table: users } as const;

export const emailTaken = conflict('email_taken', {
  summary: 'Another user has this e-mail address',
  message: () => 'A user with this e-mail address already exists.',
  example: { path: '/email' },
});
refuse('users_email_key', () => emailTaken.error());

const byId = recordsById(users);
const insertUser = insertionOf(user);
const removeUser = removalOf(user);

/** A page of users. */
export const listUsers = pagedList<User, 'name' | 'email', (typeof userSorts)[number]>({
  scope: 'read',
  name: 'users',
  table: users,
  filters: {
    name: users.name,
    email: value => eq(sql`lower(${users.email})`, sql`lower(${value} collate "C")`),
  },
  sorts: { createdAt: [], name: [users.name], email: [sql`lower(${users.email})`] },
});

/** One user; not found for any other text. */
export async function getUser(context: Context, id: string): Promise<User> {
  need(context, 'read');
  return orNotFound('User', await byId.one(context.db, id));
}

/** The users with these ids, by id. Unknown ids are absent. */
export async function usersOfIds(context: Context, ids: string[]): Promise<Map<string, User>> {
  need(context, 'read');
  return byId.many(context.db, ids);
}

/** The new user; a conflict when the address is taken. */
export async function createUser(context: Context, input: UserCreate): Promise<User> {
  need(context, 'write');
  const created = { ...input, ...newRecord(context) };
  // The unique index waits for other writes of this address.
  await inTurnOnceLocked(input.email.toLowerCase(), () => insertUser(context, created));
  return created;
}

/** The user after the change, which may name all members or some; a conflict when the address is taken. */
export async function changeUser(context: Context, id: string, input: UserUpdate): Promise<User> {
  need(context, 'write');
  return changeRecord(context, user, id, input);
}

/** Deletes a user without posts, or with `cascade` the posts too, unless they are very many. */
export async function deleteUser(context: Context, id: string, options: Removal): Promise<void> {
  need(context, 'write');
  await removeUser(context, id, options);
}
