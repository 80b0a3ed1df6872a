import type { Scope } from '../schemas/apiKey.ts';
import type { AuditEntry } from '../schemas/audit.ts';
import type { EventStatus, Failure } from '../schemas/event.ts';
import type { PostStatus } from '../schemas/post.ts';
import type { SubscriptionStatus } from '../schemas/subscription.ts';
import { bytes, instant, textByCode } from './columns.ts';
import { check, foreignKey, index, integer, jsonb, pgTable, sql, text, uniqueIndex, uuid } from './orm.ts';

// src/services/refusals.ts turns names of constraints into the errors that clients see.

export const users = pgTable(
  'users',
  {
    id: uuid().primaryKey(),
    name: textByCode().notNull(),
    email: textByCode().notNull(),
    createdAt: instant('created_at').notNull(),
    updatedAt: instant('updated_at').notNull(),
  },
  table => [
    uniqueIndex('users_email_key').on(sql`lower(${table.email})`),
    index('users_name_index').on(table.name, table.id),
    check('users_name_length', sql`char_length(${table.name}) between 1 and 200`),
    check('users_email_length', sql`char_length(${table.email}) between 3 and 254`),
  ],
);

export const posts = pgTable(
  'posts',
  {
    id: uuid().primaryKey(),
    title: textByCode().notNull(),
    status: textByCode().$type<PostStatus>().notNull().default('draft'),
    authorId: uuid('author_id').notNull(),
    createdAt: instant('created_at').notNull(),
    updatedAt: instant('updated_at').notNull(),
  },
  table => [
    foreignKey({ name: 'posts_author_id_fkey', columns: [table.authorId], foreignColumns: [users.id] }),
    index('posts_author_index').on(table.authorId, table.id),
    index('posts_status_index').on(table.status, table.id),
    index('posts_title_index').on(table.title, table.id),
    check('posts_title_length', sql`char_length(${table.title}) between 1 and 500`),
    check('posts_status_known', sql`${table.status} in ('draft', 'published')`),
  ],
);

export const apiKeys = pgTable(
  'api_keys',
  {
    id: uuid().primaryKey(),
    name: textByCode().notNull(),
    scopes: text().array().$type<Scope[]>().notNull(),
    createdAt: instant('created_at').notNull(),
    expiresAt: instant('expires_at'),
    lastUsedAt: instant('last_used_at'),
    revokedAt: instant('revoked_at'),
    secretHash: textByCode('secret_hash').notNull(),
  },
  table => [
    index('api_keys_name_index').on(table.name, table.id),
    check('api_keys_name_length', sql`char_length(${table.name}) between 1 and 200`),
    check('api_keys_secret_hash_shape', sql`${table.secretHash} ~ '^[0-9a-f]{64}$'`),
    check(
      'api_keys_scopes_known',
      sql`cardinality(${table.scopes}) > 0 and ${table.scopes} <@ array['read', 'write', 'admin']`,
    ),
  ],
);

export const auditLog = pgTable(
  'audit_log',
  {
    id: uuid().primaryKey(),
    createdAt: instant('created_at').notNull(),
    action: textByCode().$type<AuditEntry['action']>().notNull(),
    recordId: textByCode('record_id').notNull(),
    changed: text().array().notNull(),
    actorKind: textByCode('actor_kind').$type<AuditEntry['actorKind']>().notNull(),
    actorId: textByCode('actor_id'),
    actorName: textByCode('actor_name').notNull(),
    door: textByCode().$type<AuditEntry['door']>().notNull(),
    address: textByCode(),
    requestId: textByCode('request_id'),
    details: jsonb().$type<AuditEntry['details']>(),
  },
  table => [
    index('audit_log_action_index').on(table.action, table.id),
    index('audit_log_record_index').on(table.recordId, table.id),
    index('audit_log_actor_index').on(table.actorId, table.id).where(sql`${table.actorId} is not null`),
  ],
);

export const subscriptions = pgTable(
  'subscriptions',
  {
    id: uuid().primaryKey(),
    customer: textByCode().notNull(),
    provider: textByCode().notNull(),
    status: textByCode().$type<SubscriptionStatus>().notNull(),
    activatedAt: instant('activated_at'),
    createdAt: instant('created_at').notNull(),
    updatedAt: instant('updated_at').notNull(),
  },
  table => [
    uniqueIndex('subscriptions_customer_provider_key').on(table.customer, table.provider),
    index('subscriptions_status_index').on(table.status, table.id),
    check('subscriptions_customer_length', sql`char_length(${table.customer}) between 1 and 255`),
  ],
);

export const webhookEvents = pgTable(
  'webhook_events',
  {
    id: uuid().primaryKey(),
    provider: textByCode().notNull(),
    fingerprint: bytes().notNull(),
    eventId: textByCode('event_id'),
    type: textByCode(),
    customer: textByCode(),
    status: textByCode().$type<EventStatus>().notNull(),
    attempts: integer().notNull().default(0),
    replays: integer().notNull().default(0),
    lastError: textByCode('last_error'),
    failures: jsonb().$type<Failure[]>().notNull().default([]),
    body: bytes().notNull(),
    createdAt: instant('created_at').notNull(),
    updatedAt: instant('updated_at').notNull(),
    processedAt: instant('processed_at'),
  },
  table => [
    uniqueIndex('webhook_events_fingerprint_key').on(table.provider, table.fingerprint),
    index('webhook_events_status_index').on(table.status, table.id),
    index('webhook_events_type_index').on(table.type, table.id),
    index('webhook_events_customer_index').on(table.customer, table.id),
    check(
      'webhook_events_status_known',
      sql`${table.status} in ('received', 'processing', 'processed', 'ignored', 'failed', 'dead')`,
    ),
  ],
);
