import { recordColumns } from '#drizzle/columns.ts';
import { foreignKey, index, integer, pgTable, uuid } from '#drizzle/orm.ts';
import { Id, wholeNumber } from '#schemas/parts/common.ts';
import { contractOf } from '#schemas/parts/contract.ts';
import { resourceOf } from '#src/records/resource.ts';
import { specimen, specimenTable } from './specimens.ts';

/** A resource whose parent cascades: splinters are always deleted with their specimen. */
export const splinterTable = pgTable(
  'splinters',
  { ...recordColumns(), length: integer().notNull(), specimenId: uuid('specimen_id').notNull() },
  table => [
    foreignKey({
      name: 'splinters_specimen_id_fkey',
      columns: [table.specimenId],
      foreignColumns: [specimenTable.id],
    }),
    index('splinters_specimen_index').on(table.specimenId, table.id),
  ],
);

export const splinter = resourceOf(
  'splinters',
  contractOf('Splinter', 'What broke off from a specimen.', {
    members: {
      length: wholeNumber('The length in millimetres.'),
      specimenId: { ...Id, description: 'The id of the specimen.' },
    },
    sorts: [],
    filters: { specimen: 'Only splinters of the specimen with this id.' },
  }),
  splinterTable,
  { belongsTo: { specimenId: { parent: specimen, cascade: 'always' } } },
);
