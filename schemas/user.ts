import type { Static } from '@sinclair/typebox';
import { email, text } from './parts/common.ts';
import { contractOf } from './parts/contract.ts';
import { prefix } from './parts/filters.ts';

export const user = contractOf('User', 'A person.', {
  members: {
    name: text(1, 200, 'The name, 1 to 200 characters.', 'Ada Lovelace'),
    email: email('The e-mail address. Unique regardless of case, stored as given.'),
  },
  sorts: ['name', 'email'],
  filters: {
    name: prefix('Only users with exactly this name.'),
    email: 'Only the user with this e-mail address, regardless of case.',
  },
});
export type User = Static<typeof user.record>;
