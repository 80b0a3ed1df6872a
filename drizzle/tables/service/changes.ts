import { bigint, customType, pgTable, uuid } from '#drizzle/orm.ts';

const numberingColumn = customType<{ data: string }>({ dataType: () => 'numbering' });

/** The changes of records in the order of their numbers. The function `number_changes` writes them. */
export const changes = pgTable('changes', {
  number: bigint({ mode: 'number' }).primaryKey(),
  entry: uuid().notNull(),
  numbering: numberingColumn(),
});
