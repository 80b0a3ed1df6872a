import { recordColumns, textByCode } from '#drizzle/columns.ts';
import { bigint, check, date, foreignKey, index, pgTable, sql, uniqueIndex, uuid } from '#drizzle/orm.ts';
import { users as userTable } from '#drizzle/tables/users.ts';
import * as members from '#schemas/parts/common.ts';
import { contractOf, orDefault, orNull } from '#schemas/parts/contract.ts';
import { anyOf, prefix } from '#schemas/parts/filters.ts';
import { compose, offer } from '#src/compose.ts';
import { domain as ours } from '#src/domain/index.ts';
import { user } from '#src/domain/users.ts';
import { resourceOf } from '#src/records/resource.ts';
import { operationsOf } from '#test/world/operations.ts';

const statuses = ['draft', 'sent', 'paid'] as const;

/** Named so that an application can have a table of invoices itself. */
const invoiceTable = pgTable(
  'pictured_invoices',
  {
    ...recordColumns(),
    number: textByCode().notNull(),
    status: textByCode().$type<(typeof statuses)[number]>().notNull().default('draft'),
    amount: bigint({ mode: 'number' }).notNull().default(0),
    dueOn: date('due_on'),
    userId: uuid('user_id').notNull(),
  },
  table => [
    foreignKey({
      name: 'pictured_invoices_user_id_fkey',
      columns: [table.userId],
      foreignColumns: [userTable.id],
    }),
    uniqueIndex('pictured_invoices_number_key').on(table.number),
    index('pictured_invoices_user_index').on(table.userId, table.id),
    index('pictured_invoices_status_index').on(table.status, table.id),
    check('pictured_invoices_status_known', sql`${table.status} in ('draft', 'sent', 'paid')`),
  ],
);

/** The resource that the README makes with `npm run new`. */
export const invoice = resourceOf(
  'invoices',
  contractOf('Invoice', 'What a user is asked to pay.', {
    members: {
      number: members.text(1, 100, 'The number, 1 to 100 characters.', 'INV-2041'),
      status: orDefault(members.oneOf(statuses, 'How far the invoice is.', 'sent'), 'draft'),
      amount: orDefault(members.cents('The amount in cents.'), 0),
      dueOn: orNull(members.date('The day until which it is to be paid.')),
      userId: { ...members.Id, description: 'The id of the user who pays it.' },
    },
    sorts: ['number'],
    filters: {
      user: anyOf('Only invoices of the user with this id.'),
      status: anyOf('Only invoices that are so far.'),
      number: prefix('Only invoices with exactly this number.'),
    },
  }),
  invoiceTable,
  {
    counted: ['status'],
    unique: ['number'],
    belongsTo: { userId: { parent: user } },
    owner: 'userId',
  },
);

/** An application of users and invoices alone, whatever resources this project has. */
export function composePictured() {
  // After this, the process can make no other application: what belongs to users here does not exist in that one.
  user.childRelations.splice(0);
  const users = ours.resources.filter(({ resource }) => resource.name === user.name);
  return compose({
    handlers: new Map(),
    effects: {},
    resources: [...users, offer(operationsOf(invoice))],
    pages: [],
    jobs: [],
  });
}
