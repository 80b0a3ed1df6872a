import { type ColumnsOf, recordColumns, textByCode } from '#drizzle/columns.ts';
import { check, index, pgTable, sql, uniqueIndex } from '#drizzle/orm.ts';
import type { User } from '#schemas/user.ts';

export const users = pgTable(
  'users',
  {
    ...recordColumns(),
    name: textByCode().notNull(),
    email: textByCode().notNull(),
  } satisfies ColumnsOf<User>,
  table => [
    uniqueIndex('users_email_key').on(sql`lower(${table.email})`),
    index('users_name_index').on(table.name, table.id),
    check('users_name_length', sql`char_length(${table.name}) between 1 and 200`),
    check('users_email_length', sql`char_length(${table.email}) between 3 and 254`),
  ],
);
