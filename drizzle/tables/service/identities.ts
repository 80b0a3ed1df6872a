import { instant, textByCode } from '#drizzle/columns.ts';
import { foreignKey, index, pgTable, uniqueIndex, uuid } from '#drizzle/orm.ts';
import { persons } from '#drizzle/persons.ts';

export const identities = pgTable(
  'identities',
  {
    id: uuid().primaryKey(),
    issuer: textByCode().notNull(),
    subject: textByCode().notNull(),
    userId: uuid('user_id').notNull(),
    createdAt: instant('created_at').notNull(),
  },
  table => [
    foreignKey({
      name: 'identities_user_id_fkey',
      columns: [table.userId],
      foreignColumns: [persons.id],
    }).onDelete('cascade'),
    uniqueIndex('identities_issuer_subject_key').on(table.issuer, table.subject),
    index('identities_user_index').on(table.userId, table.id),
  ],
);
