import { instant, textByCode } from '../columns.ts';
import { check, index, integer, pgTable, sql, uniqueIndex, uuid } from '../orm.ts';

export const users = pgTable(
  'users',
  {
    id: uuid().primaryKey(),
    name: textByCode().notNull(),
    email: textByCode().notNull(),
    version: integer().notNull().default(1),
    createdAt: instant('created_at').notNull(),
    updatedAt: instant('updated_at').notNull(),
  },
  table => [
    uniqueIndex('users_email_key').on(sql`lower(${table.email})`),
    index('users_name_index').on(table.name, table.id),
    check('users_name_length', sql`char_length(${table.name}) between 1 and 200`),
    check('users_email_length', sql`char_length(${table.email}) between 3 and 254`),
  ],
);
