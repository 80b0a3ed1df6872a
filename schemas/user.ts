import { type Static, Type } from '@sinclair/typebox';
import { strict, text } from './common.ts';
import { listOf, listParameters, only } from './lists.ts';
import { creationOf, recordOf, replacementOf, updateOf } from './records.ts';

const members = {
  name: text(1, 200, 'The name, 1 to 200 characters.', 'Ada Lovelace'),
  email: Type.String({
    format: 'email',
    maxLength: 254,
    description: 'The e-mail address. Unique regardless of case, stored as given.',
    examples: ['ada@example.com'],
  }),
};
const { name, email } = members;

export const User = recordOf('User', 'A person who writes posts.', members);
export type User = Static<typeof User>;

export const UserCreate = creationOf('User', members);
export type UserCreate = Static<typeof UserCreate>;

export const UserReplace = replacementOf('User', members);
export type UserReplace = Static<typeof UserReplace>;

export const UserUpdate = updateOf('User', members);
export type UserUpdate = Static<typeof UserUpdate>;

export const userSorts = ['createdAt', 'name', 'email'] as const;
export const UserQuery = strict({
  ...listParameters(userSorts),
  name: only(name, 'Only users with exactly this name.'),
  email: only(email, 'Only the user with this e-mail address, regardless of case.'),
});
export type UserQuery = Static<typeof UserQuery>;

export const UserList = listOf(User, 'UserList');
