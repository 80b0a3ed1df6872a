import { pgTable, uuid } from './orm.ts';

/**
 * The users, as far as the tables of the service refer to them. `tables/users.ts` has all that the application knows of
 * them.
 */
export const persons = pgTable('users', { id: uuid().primaryKey() });
