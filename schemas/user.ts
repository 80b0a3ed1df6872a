import { type Static, Type } from '@sinclair/typebox';
import { readOnly, strict, text } from './common.ts';
import { listOf, paging, sortBy } from './lists.ts';

const name = text(1, 200, 'The name, 1 to 200 characters.', 'Ada Lovelace');
const email = Type.String({
  format: 'email',
  maxLength: 254,
  description: 'The e-mail address. Unique regardless of case, stored as given.',
  examples: ['ada@example.com'],
});

export const User = strict(
  { id: readOnly.id, name, email, createdAt: readOnly.createdAt, updatedAt: readOnly.updatedAt },
  { $id: 'User', description: 'A person who writes posts.' },
);
export type User = Static<typeof User>;

export const UserCreate = strict({ name, email }, { $id: 'UserCreate', description: 'A new user.' });
export type UserCreate = Static<typeof UserCreate>;

export const UserReplace = strict(
  { name, email, ...Type.Partial(Type.Object(readOnly)).properties },
  { $id: 'UserReplace', description: 'A complete user. The response of a GET is accepted.' },
);
export type UserReplace = Static<typeof UserReplace>;

export const UserUpdate = Type.Partial(UserReplace, {
  $id: 'UserUpdate',
  description: 'A merge patch (RFC 7396): members that are absent stay as they are.',
});
export type UserUpdate = Static<typeof UserUpdate>;

export const userSorts = ['createdAt', 'name', 'email'] as const;
export const UserQuery = strict({
  ...paging,
  sort: sortBy(userSorts),
  name: Type.Optional({ ...name, description: 'Only users with exactly this name.' }),
  email: Type.Optional({
    ...email,
    description: 'Only the user with this e-mail address, regardless of case.',
  }),
});
export type UserQuery = Static<typeof UserQuery>;

export const UserList = listOf(User, 'UserList');

export const UserRemoval = strict({
  cascade: Type.Boolean({
    default: false,
    description: "Delete the user's posts too, up to 10,000 posts; a user with more is a 409.",
  }),
});
