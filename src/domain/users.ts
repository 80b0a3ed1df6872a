import { users as table } from '#drizzle/tables/users.ts';
import { user as contract } from '#schemas/user.ts';
import { revokeKeysOf } from '#src/people/apiKeys.ts';
import { removalOf } from '#src/records/deletions.ts';
import { creationOf, updatesOf } from '#src/records/records.ts';
import { type Operations, resourceOf } from '#src/records/resource.ts';

export const user = resourceOf('users', contract, table, {
  unique: ['email'],
  owner: 'id',
  onRemoval: revokeKeysOf,
});

export const users = {
  resource: user,
  create: creationOf(user),
  ...updatesOf(user),
  remove: removalOf(user),
} satisfies Operations;
