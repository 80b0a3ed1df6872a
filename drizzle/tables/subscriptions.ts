import type { KnownItem, SubscriptionStatus } from '../../schemas/subscription.ts';
import { instant, textByCode } from '../columns.ts';
import { check, index, integer, jsonb, pgTable, sql, uniqueIndex, uuid } from '../orm.ts';

export const subscriptions = pgTable(
  'subscriptions',
  {
    id: uuid().primaryKey(),
    customer: textByCode().notNull(),
    provider: textByCode().notNull(),
    status: textByCode().$type<SubscriptionStatus>().notNull(),
    activatedAt: instant('activated_at'),
    items: jsonb().$type<KnownItem[]>().notNull().default([]),
    version: integer().notNull().default(1),
    createdAt: instant('created_at').notNull(),
    updatedAt: instant('updated_at').notNull(),
  },
  table => [
    uniqueIndex('subscriptions_customer_provider_key').on(table.customer, table.provider),
    index('subscriptions_status_index').on(table.status, table.id),
    check('subscriptions_customer_length', sql`char_length(${table.customer}) between 1 and 255`),
  ],
);
