import type { AuditEntry } from '../../schemas/audit.ts';
import { instant, textByCode } from '../columns.ts';
import { index, jsonb, pgTable, sql, text, uuid } from '../orm.ts';

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
  },
  table => [
    index('audit_log_action_index').on(table.action, table.id),
    index('audit_log_record_index').on(table.recordId, table.id),
    index('audit_log_actor_index').on(table.actorId, table.id).where(sql`${table.actorId} is not null`),
  ],
);
