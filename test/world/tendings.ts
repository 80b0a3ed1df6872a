import { recordColumns } from '#drizzle/columns.ts';
import { foreignKey, index, pgTable, uniqueIndex, uuid } from '#drizzle/orm.ts';
import { users as userTable } from '#drizzle/tables/users.ts';
import { Id } from '#schemas/parts/common.ts';
import { contractOf } from '#schemas/parts/contract.ts';
import { user } from '#src/domain/users.ts';
import { resourceOf } from '#src/records/resource.ts';
import { burrow, burrowTable } from './burrows.ts';

/** A join: a user tends a burrow at most once. A tending belongs to the user, and everybody may read it. */
export const tendingTable = pgTable(
  'tendings',
  { ...recordColumns(), burrowId: uuid('burrow_id').notNull(), userId: uuid('user_id').notNull() },
  table => [
    foreignKey({
      name: 'tendings_burrow_id_fkey',
      columns: [table.burrowId],
      foreignColumns: [burrowTable.id],
    }),
    foreignKey({ name: 'tendings_user_id_fkey', columns: [table.userId], foreignColumns: [userTable.id] }),
    index('tendings_burrow_index').on(table.burrowId, table.id),
    index('tendings_user_index').on(table.userId, table.id),
    uniqueIndex('tendings_burrow_id_user_id_key').on(table.burrowId, table.userId),
  ],
);

export const tending = resourceOf(
  'tendings',
  contractOf('Tending', 'That somebody looks after a burrow.', {
    members: {
      burrowId: { ...Id, description: 'The id of the burrow.' },
      userId: { ...Id, description: 'The id of the user who looks after it.' },
    },
    sorts: [],
    filters: {
      burrow: 'Only tendings of the burrow with this id.',
      user: 'Only tendings by the user with this id.',
    },
  }),
  tendingTable,
  {
    unique: [['burrowId', 'userId']],
    belongsTo: { burrowId: { parent: burrow }, userId: { parent: user } },
    owner: 'userId',
  },
);
