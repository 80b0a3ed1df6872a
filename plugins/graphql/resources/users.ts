import { User, UserCreate, UserQuery, UserReplace, UserUpdate } from '../../../schemas/user.ts';
import { changeUser, createUser, deleteUser, listUsers, user } from '../../../src/services/users.ts';
import { listFields } from '../fields/lists.ts';
import { mutationFields, recordFields } from '../fields/records.ts';
import type { Part } from '../part.ts';

export const users: Part[] = [
  recordFields(user, User),
  listFields({ ...user, record: User }, UserQuery, listUsers),
  mutationFields(
    user,
    User,
    { create: UserCreate, replace: UserReplace, update: UserUpdate },
    { create: createUser, change: changeUser, remove: deleteUser },
  ),
];
