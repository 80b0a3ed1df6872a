import { recordColumns, textByCode } from '#drizzle/columns.ts';
import { check, foreignKey, index, pgTable, sql, uuid } from '#drizzle/orm.ts';
import { users as userTable } from '#drizzle/tables/users.ts';
import { Id, text } from '#schemas/parts/common.ts';
import { contractOf } from '#schemas/parts/contract.ts';
import { user } from '#src/domain/users.ts';
import { resourceOf } from '#src/records/resource.ts';

/** A private resource: the user who keeps a whisper may read it, and no other user may. */
export const whisperTable = pgTable(
  'whispers',
  { ...recordColumns(), words: textByCode().notNull(), keeperId: uuid('keeper_id').notNull() },
  table => [
    foreignKey({
      name: 'whispers_keeper_id_fkey',
      columns: [table.keeperId],
      foreignColumns: [userTable.id],
    }),
    index('whispers_keeper_index').on(table.keeperId, table.id),
    index('whispers_words_index').on(table.words, table.id),
    check('whispers_words_length', sql`char_length(${table.words}) between 1 and 500`),
  ],
);

export const whisper = resourceOf(
  'whispers',
  contractOf('Whisper', 'What nobody else shall read.', {
    members: {
      words: text(1, 500, 'The words, 1 to 500 characters.', 'Behind the wall'),
      keeperId: { ...Id, description: 'The id of the user who keeps it.' },
    },
    sorts: ['words'],
    filters: {
      words: 'Only whispers of exactly these words.',
      keeper: 'Only whispers of the user with this id.',
    },
  }),
  whisperTable,
  { belongsTo: { keeperId: { parent: user } }, owner: 'keeperId', readBy: 'owner' },
);
