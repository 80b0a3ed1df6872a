import { recordColumns, textByCode } from '#drizzle/columns.ts';
import { check, foreignKey, index, pgTable, sql, uuid } from '#drizzle/orm.ts';
import { Id, text } from '#schemas/parts/common.ts';
import { contractOf, orNull } from '#schemas/parts/contract.ts';
import { resourceOf } from '#src/records/resource.ts';

/** A tree: burrows branch off from others. They belong to nobody. */
export const burrowTable = pgTable(
  'burrows',
  { ...recordColumns(), label: textByCode().notNull(), parentId: uuid('parent_id') },
  table => [
    foreignKey({ name: 'burrows_parent_id_fkey', columns: [table.parentId], foreignColumns: [table.id] }),
    index('burrows_parent_index').on(table.parentId, table.id),
    index('burrows_label_index').on(table.label, table.id),
    check('burrows_label_length', sql`char_length(${table.label}) between 1 and 200`),
  ],
);

export const burrow = resourceOf(
  'burrows',
  contractOf('Burrow', 'A hole that an animal has dug.', {
    members: {
      label: text(1, 200, 'The label, 1 to 200 characters.', 'Under the oak'),
      parentId: orNull({ ...Id, description: 'The id of the burrow that it branches off from.' }),
    },
    sorts: ['label'],
    filters: {
      label: 'Only burrows with exactly this label.',
      parent: 'Only burrows that branch off from the one with this id.',
    },
  }),
  burrowTable,
  { belongsTo: { parentId: { parent: 'itself' } } },
);
