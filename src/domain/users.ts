import { eq, sql } from '../../drizzle/orm.ts';
import { users as table } from '../../drizzle/tables/users.ts';
import { user as contract } from '../../schemas/user.ts';
import { revokeKeysOf } from '../people/apiKeys.ts';
import { removalOf } from '../records/deletions.ts';
import { changesOf, creationOf } from '../records/records.ts';
import { type Operations, resourceOf } from '../records/resource.ts';

const email = sql`lower(${table.email})`;

export const user = resourceOf('users', contract, table, {
  filters: { email: value => eq(email, sql`lower(${value} collate "C")`) },
  sorts: { email: [email] },
  unique: ['email'],
  owner: 'id',
  onRemoval: revokeKeysOf,
});

export const users = {
  resource: user,
  create: creationOf(user),
  ...changesOf(user),
  remove: removalOf(user),
} satisfies Operations;
