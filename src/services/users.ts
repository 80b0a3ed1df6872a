import { eq, sql } from '../../drizzle/orm.ts';
import { users } from '../../drizzle/tables/users.ts';
import type { User, UserCreate, userSorts } from '../../schemas/user.ts';
import { need } from '../access/need.ts';
import { conflict } from '../core/conflicts.ts';
import type { Context } from '../core/context.ts';
import { write } from '../database/write.ts';
import { insertionOf } from './audit.ts';
import { removalOf } from './deletions.ts';
import { kindOf } from './kinds.ts';
import { pagedList } from './lists/pagedList.ts';
import { changeOf } from './records.ts';
import { refuse } from './refusals.ts';

export const user = kindOf('user', 'users', users);

export const emailTaken = conflict('email_taken', {
  summary: 'Another user has this e-mail address',
  message: () => 'A user with this e-mail address already exists.',
  example: { path: '/email' },
});
refuse('users_email_key', () => emailTaken.error());

const insertUser = insertionOf(user);

/** A page of users. */
export const listUsers = pagedList<User, 'name' | 'email', (typeof userSorts)[number]>({
  ...user,
  scope: 'read',
  filters: {
    name: users.name,
    email: value => eq(sql`lower(${users.email})`, sql`lower(${value} collate "C")`),
  },
  sorts: { createdAt: [], name: [users.name], email: [sql`lower(${users.email})`] },
});

/** The new user; a conflict when the address is taken. */
export async function createUser(context: Context, input: UserCreate): Promise<User> {
  need(context, 'write');
  // The unique index waits for other writes of this address.
  return write(context, inside => insertUser(inside, input), { turns: [input.email.toLowerCase()] });
}

/** The user after the change, which may name all members or some; a conflict when the address is taken. */
export const changeUser = changeOf(user);

/** Deletes a user without posts, or with `cascade` the posts too, unless they are very many. */
export const deleteUser = removalOf(user);
