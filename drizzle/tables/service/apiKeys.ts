import { instant, textByCode } from '#drizzle/columns.ts';
import { check, index, pgTable, sql, text, uuid } from '#drizzle/orm.ts';
import type { Scope } from '#schemas/service/apiKey.ts';

export const apiKeys = pgTable(
  'api_keys',
  {
    id: uuid().primaryKey(),
    name: textByCode().notNull(),
    scopes: text().array().$type<Scope[]>().notNull(),
    userId: uuid('user_id'),
    createdAt: instant('created_at').notNull(),
    expiresAt: instant('expires_at'),
    lastUsedAt: instant('last_used_at'),
    revokedAt: instant('revoked_at'),
    secretHash: textByCode('secret_hash').notNull(),
  },
  table => [
    index('api_keys_name_index').on(table.name, table.id),
    index('api_keys_user_index').on(table.userId).where(sql`${table.userId} is not null`),
    check('api_keys_name_length', sql`char_length(${table.name}) between 1 and 200`),
    check('api_keys_secret_hash_shape', sql`${table.secretHash} ~ '^[0-9a-f]{64}$'`),
    check(
      'api_keys_scopes_known',
      sql`cardinality(${table.scopes}) > 0 and ${table.scopes} <@ array['read', 'write', 'admin', 'own']`,
    ),
  ],
);
