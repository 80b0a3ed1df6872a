import { bytes, digest, instant, textByCode } from '#drizzle/columns.ts';
import { check, index, integer, jsonb, pgTable, sql, uniqueIndex, uuid } from '#drizzle/orm.ts';
import type { EventStatus, Failure } from '#schemas/service/webhookEvent.ts';

export const webhookEvents = pgTable(
  'webhook_events',
  {
    id: uuid().primaryKey(),
    provider: textByCode().notNull(),
    preset: textByCode().notNull(),
    fingerprint: digest().notNull(),
    eventId: textByCode('event_id'),
    type: textByCode(),
    customer: textByCode(),
    status: textByCode().$type<EventStatus>().notNull(),
    reason: textByCode(),
    deliveries: integer().notNull().default(1),
    attempts: integer().notNull().default(0),
    replays: integer().notNull().default(0),
    lastError: textByCode('last_error'),
    failures: jsonb().$type<Failure[]>().notNull().default([]),
    body: bytes().notNull(),
    traceparent: textByCode(),
    occurredAt: instant('occurred_at'),
    createdAt: instant('created_at').notNull(),
    updatedAt: instant('updated_at').notNull(),
    processedAt: instant('processed_at'),
  },
  table => [
    uniqueIndex('webhook_events_fingerprint_key').on(table.fingerprint, table.provider),
    index('webhook_events_status_index').on(table.status, table.id),
    index('webhook_events_type_index').on(table.type, table.id),
    index('webhook_events_customer_index').on(table.customer, table.id),
    check(
      'webhook_events_status_known',
      sql`${table.status} in ('received', 'processed', 'ignored', 'failed', 'dead', 'dismissed')`,
    ),
  ],
);
