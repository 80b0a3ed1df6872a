import { type ColumnsOf, recordColumns, searchable, textByCode } from '#drizzle/columns.ts';
import { check, foreignKey, index, pgTable, sql, uuid } from '#drizzle/orm.ts';
import type { Post } from '#schemas/post.ts';
import { users } from './users.ts';

export const posts = pgTable(
  'posts',
  {
    ...recordColumns(),
    title: textByCode().notNull(),
    status: textByCode().$type<Post['status']>().notNull().default('draft'),
    authorId: uuid('author_id').notNull(),
  } satisfies ColumnsOf<Post>,
  table => [
    foreignKey({ name: 'posts_author_id_fkey', columns: [table.authorId], foreignColumns: [users.id] }),
    index('posts_author_index').on(table.authorId, table.id),
    index('posts_status_index').on(table.status, table.id),
    index('posts_title_index').on(table.title, table.id),
    index('posts_search_index')
      .using('gin', searchable([table.title]))
      .with({ fastupdate: false }),
    check('posts_title_length', sql`char_length(${table.title}) between 1 and 500`),
    check('posts_status_known', sql`${table.status} in ('draft', 'published')`),
  ],
);
