import type { Static } from '@sinclair/typebox';
import { instant, json, recordColumns, searchable, textByCode } from '#drizzle/columns.ts';
import {
  bigint,
  boolean,
  check,
  date,
  doublePrecision,
  foreignKey,
  index,
  integer,
  pgTable,
  sql,
  uuid,
} from '#drizzle/orm.ts';
import * as members from '#schemas/parts/common.ts';
import { contractOf, orDefault, orNull } from '#schemas/parts/contract.ts';
import { anyOf, prefix, range } from '#schemas/parts/filters.ts';
import { resourceOf } from '#src/records/resource.ts';
import { burrow, burrowTable } from './burrows.ts';

/** A resource with every type of member. Specimens belong to a burrow, and not to a person. */
export const specimenTable = pgTable(
  'specimens',
  {
    ...recordColumns(),
    label: textByCode().notNull(),
    grade: textByCode().$type<'rough' | 'fair' | 'fine'>().notNull().default('rough'),
    isWet: boolean('is_wet').notNull().default(false),
    bones: integer().notNull().default(0),
    weight: doublePrecision(),
    cents: bigint({ mode: 'number' }).notNull().default(0),
    finder: textByCode(),
    remark: textByCode(),
    foundAt: instant('found_at'),
    foundOn: date('found_on'),
    extra: json(),
    burrowId: uuid('burrow_id').notNull(),
  },
  table => [
    foreignKey({
      name: 'specimens_burrow_id_fkey',
      columns: [table.burrowId],
      foreignColumns: [burrowTable.id],
    }),
    index('specimens_burrow_index').on(table.burrowId, table.id),
    index('specimens_label_index').on(table.label, table.id),
    index('specimens_grade_index').on(table.grade, table.id),
    index('specimens_is_wet_index').on(table.isWet, table.id),
    index('specimens_bones_index').on(table.bones, table.id),
    index('specimens_weight_index').on(table.weight, table.id),
    index('specimens_cents_index').on(table.cents, table.id),
    index('specimens_finder_index').on(sql`lower(${table.finder})`, table.id),
    index('specimens_found_at_index').on(table.foundAt, table.id),
    index('specimens_found_on_index').on(table.foundOn, table.id),
    index('specimens_search_index')
      .using('gin', searchable([table.label, table.remark]))
      .with({ fastupdate: false }),
    check('specimens_label_length', sql`char_length(${table.label}) between 1 and 500`),
    check('specimens_grade_known', sql`${table.grade} in ('rough', 'fair', 'fine')`),
  ],
);

export const specimen = resourceOf(
  'specimens',
  contractOf('Specimen', 'What was found in a burrow.', {
    members: {
      label: members.text(1, 500, 'The label, 1 to 500 characters.', 'A molar'),
      grade: orDefault(members.oneOf(['rough', 'fair', 'fine'], 'How well it is kept.', 'fine'), 'rough'),
      isWet: orDefault(members.boolean('Whether it is wet.'), false),
      bones: orDefault(members.wholeNumber('The number of bones.'), 0),
      weight: orNull(members.number('The weight in grams.')),
      cents: orDefault(members.cents('What it is worth in cents.'), 0),
      finder: orNull(members.email('The address of the finder.')),
      remark: orNull(members.text(1, 20_000, 'A remark, 1 to 20,000 characters.', 'Much worn')),
      foundAt: orNull(members.time('When it was found.')),
      foundOn: orNull(members.date('The day in the book.')),
      extra: orNull(members.json('What else there is to say.')),
      burrowId: { ...members.Id, description: 'The id of the burrow in which it was found.' },
    },
    sorts: ['label', 'grade', 'bones', 'cents', 'weight', 'finder', 'foundAt', 'foundOn'],
    filters: {
      burrow: anyOf('Only specimens of the burrow with this id.'),
      label: prefix('Only specimens with exactly this label.'),
      grade: anyOf('Only specimens that are kept so well.'),
      isWet: 'Only wet specimens, or only the others.',
      bones: range('Only specimens with so many bones.'),
      weight: range('Only specimens of this weight.'),
      cents: range('Only specimens that are worth this.'),
      finder: 'Only specimens by this finder, regardless of case.',
      foundAt: range('Only specimens that were found then.'),
      foundOn: range('Only specimens of this day.'),
    },
    search: ['label', 'remark'],
    ownFilters: {
      isLight: members.boolean('Only specimens of less than 10 grams for each bone, or only the others.'),
    },
  }),
  specimenTable,
  {
    counted: ['grade'],
    belongsTo: { burrowId: { parent: burrow } },
    filters: {
      isLight: {
        where: value =>
          sql`coalesce(${specimenTable.weight} < 10.0 * ${specimenTable.bones}, false) = ${value}::boolean`,
      },
    },
  },
);
export type Specimen = Static<typeof specimen.contract.record>;
