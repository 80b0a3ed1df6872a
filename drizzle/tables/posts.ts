import type { PostStatus } from '../../schemas/post.ts';
import { instant, textByCode } from '../columns.ts';
import { check, foreignKey, index, integer, pgTable, sql, uuid } from '../orm.ts';
import { users } from './users.ts';

export const posts = pgTable(
  'posts',
  {
    id: uuid().primaryKey(),
    title: textByCode().notNull(),
    status: textByCode().$type<PostStatus>().notNull().default('draft'),
    authorId: uuid('author_id').notNull(),
    version: integer().notNull().default(1),
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
