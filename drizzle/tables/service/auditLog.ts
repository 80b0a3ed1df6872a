import { instant, textByCode } from '#drizzle/columns.ts';
import { bigint, index, integer, jsonb, pgSequence, pgTable, sql, text, uuid } from '#drizzle/orm.ts';
import type { AuditEntry } from '#schemas/service/audit.ts';

/** The members of a record by which followers choose its changes. */
export type Side = Record<string, unknown>;

export const auditLogOrdinal = pgSequence('audit_log_ordinal');

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
    transport: textByCode().$type<AuditEntry['transport']>().notNull(),
    address: textByCode(),
    requestId: textByCode('request_id'),
    details: jsonb().$type<AuditEntry['details']>(),
    version: integer(),
    sides: jsonb().$type<Side[]>(),
    effect: textByCode(),
    ordinal: bigint({ mode: 'number' })
      .notNull()
      .default(sql`case when pg_current_xact_id() is not null then nextval('audit_log_ordinal') end`),
  },
  table => [
    index('audit_log_action_index').on(table.action, table.id),
    index('audit_log_ordinal_index').on(table.ordinal),
    index('audit_log_record_index').on(table.recordId, table.id),
    index('audit_log_actor_index').on(table.actorId, table.id).where(sql`${table.actorId} is not null`),
  ],
);
