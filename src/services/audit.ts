import { eq, gte, inArray, lt, type SQL, sql } from 'drizzle-orm';
import type { PgColumn } from 'drizzle-orm/pg-core';
import { auditLog } from '../../drizzle/tables.ts';
import type { AuditAction, AuditEntry, AuditQuery } from '../../schemas/audit.ts';
import type { Context } from '../core/context.ts';
import type { Orm } from '../core/database.ts';
import { invalid } from '../core/errors.ts';
import { newId } from '../core/ids.ts';
import { readInstant } from '../core/instants.ts';
import type { Page } from '../core/pages.ts';
import { need } from './access.ts';
import { listing } from './lists.ts';

/** The values of the entry of a write that this context does. */
export function entryOf({ actor, door, origin, now }: Context, action: AuditAction, recordId: string) {
  const time = now();
  return {
    entryId: newId(time.getTime()),
    entryTime: time.toISOString(),
    action,
    recordId,
    actorKind: actor.kind as AuditEntry['actorKind'],
    actorId: actor.id,
    actorName: actor.name,
    door,
    address: origin?.ip ?? null,
    requestId: origin?.id ?? null,
  };
}

/** Writes down what is done to these records. Belongs into the transaction of the write itself. */
export async function recordWrites(
  context: Context,
  action: AuditAction,
  recordIds: string[],
  changed: string[] = [],
): Promise<void> {
  // One statement takes 65,535 values.
  for (let first = 0; first < recordIds.length; first += 1000) {
    const rows = recordIds.slice(first, first + 1000).map(recordId => {
      const { entryId: id, entryTime: createdAt, ...entry } = entryOf(context, action, recordId);
      return { id, createdAt, changed, ...entry };
    });
    await context.db.insert(auditLog).values(rows);
  }
}

interface Returning {
  returning(fields: { id: PgColumn }): Parameters<ReturnType<Orm['$with']>['as']>[0];
}

/**
 * A statement that touches one row at most, together with the audit entry of that row: both happen or neither,
 * in one round trip. Run it with `entryOf`; it gives the id of the row, if there was one.
 */
export function audited(db: Orm, statement: unknown, id: PgColumn) {
  const touched = db.$with('touched').as((statement as Returning).returning({ id }) as never);
  const value = (name: string, type: string) => sql`${sql.placeholder(name)}::${sql.raw(type)}`;
  const touchedId = sql`${sql.identifier('touched')}.${sql.identifier('id')}`;
  const fields: Record<keyof AuditEntry, SQL> = {
    id: value('entryId', 'uuid'),
    createdAt: value('entryTime', 'timestamptz'),
    action: value('action', 'text'),
    recordId: sql`${touchedId}::text`,
    changed: sql`'{}'::text[]`,
    actorKind: value('actorKind', 'text'),
    actorId: value('actorId', 'text'),
    actorName: value('actorName', 'text'),
    door: value('door', 'text'),
    address: value('address', 'text'),
    requestId: value('requestId', 'text'),
  };
  const entries = db.select(fields).from(touched as never);
  return db
    .with(touched as never)
    .insert(auditLog)
    .select(entries as never)
    .returning({ recordId: auditLog.recordId });
}

const listEntries = listing<AuditEntry, 'action' | 'record' | 'actor' | 'since' | 'before', 'createdAt'>(
  'audit',
  {
    table: auditLog,
    filters: {
      action: value => eq(auditLog.action, value),
      record: value => eq(auditLog.recordId, value),
      actor: value => eq(auditLog.actorId, value),
      since: value => gte(auditLog.createdAt, value),
      before: value => lt(auditLog.createdAt, value),
    },
    sorts: { createdAt: [] },
  },
);

/** A page of the log, which is never changed through here. */
export async function listAudit(context: Context, query: AuditQuery): Promise<Page<AuditEntry>> {
  need(context, 'admin');
  const period = { since: instantIn(query, 'since'), before: instantIn(query, 'before') };
  return listEntries(context, { ...query, ...period } as AuditQuery);
}

function instantIn(query: AuditQuery, name: 'since' | 'before'): string | undefined {
  const given = query[name];
  const instant = given === undefined ? undefined : readInstant(given);
  if (given !== undefined && instant === undefined)
    throw invalid([
      { in: 'query', path: `/${name}`, message: 'must be an instant between the years 1 and 9999' },
    ]);
  return instant;
}

/** Deletes the entries from before a day; a batch at a time, so that no write waits for long. */
export async function trimAudit(context: Context, before: Date): Promise<number> {
  need(context, 'admin');
  for (let trimmed = 0; ; ) {
    const batch = context.db
      .select({ id: auditLog.id })
      .from(auditLog)
      .where(lt(auditLog.createdAt, before.toISOString()))
      .limit(trimBatch);
    const gone = await context.db
      .delete(auditLog)
      .where(inArray(auditLog.id, batch))
      .returning({ id: auditLog.id });
    trimmed += gone.length;
    if (gone.length < trimBatch) return trimmed;
  }
}
const trimBatch = 5000;
