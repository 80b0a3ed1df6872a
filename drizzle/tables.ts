import { sql } from 'drizzle-orm';
import { check, foreignKey, index, pgTable, uniqueIndex, uuid } from 'drizzle-orm/pg-core';
import type { PostStatus } from '../schemas/post.ts';
import { instant, textByCode } from './columns.ts';

// The names of constraints are a promise: services/failures.ts turns each into the error a caller sees.

export const users = pgTable(
  'users',
  {
    id: uuid().primaryKey(),
    name: textByCode().notNull(),
    email: textByCode().notNull(),
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

export const posts = pgTable(
  'posts',
  {
    id: uuid().primaryKey(),
    title: textByCode().notNull(),
    status: textByCode().$type<PostStatus>().notNull().default('draft'),
    authorId: uuid('author_id').notNull(),
    createdAt: instant('created_at').notNull(),
    updatedAt: instant('updated_at').notNull(),
  },
  table => [
    foreignKey({ name: 'posts_author_id_fkey', columns: [table.authorId], foreignColumns: [users.id] }),
    index('posts_author_index').on(table.authorId, table.id),
    index('posts_status_index').on(table.status, table.id),
    index('posts_title_index').on(table.title, table.id),
    check('posts_title_length', sql`char_length(${table.title}) between 1 and 500`),
    check('posts_status_known', sql`${table.status} in ('draft', 'published')`),
  ],
);
