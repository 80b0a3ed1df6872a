import { instant, recordColumns, textByCode } from '#drizzle/columns.ts';
import { check, index, jsonb, pgTable, sql, uniqueIndex } from '#drizzle/orm.ts';
import type { KnownItem, SubscriptionStatus } from '#schemas/service/subscription.ts';

export const subscriptions = pgTable(
  'subscriptions',
  {
    ...recordColumns(),
    customer: textByCode().notNull(),
    provider: textByCode().notNull(),
    status: textByCode().$type<SubscriptionStatus>().notNull(),
    activatedAt: instant('activated_at'),
    items: jsonb().$type<KnownItem[]>().notNull().default([]),
  },
  table => [
    uniqueIndex('subscriptions_customer_provider_key').on(table.customer, table.provider),
    index('subscriptions_status_index').on(table.status, table.id),
    check('subscriptions_customer_length', sql`char_length(${table.customer}) between 1 and 255`),
  ],
);
