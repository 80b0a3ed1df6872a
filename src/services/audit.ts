import { eq, getTableColumns, gte, inArray, lt, sql } from 'drizzle-orm';
import type { PgColumn, PgTable } from 'drizzle-orm/pg-core';
import { auditLog } from '../../drizzle/tables.ts';
import type { AuditAction, AuditEntry, AuditQuery } from '../../schemas/audit.ts';
import type { Context } from '../core/context.ts';
import { prepared } from '../core/database.ts';
import { invalid } from '../core/errors.ts';
import { newId } from '../core/ids.ts';
import { readInstant } from '../core/instants.ts';
import type { Page } from '../core/pages.ts';
import { rowsOf, sharedInsert } from '../core/sharedRows.ts';
import { need } from './access.ts';
import { listing } from './lists.ts';

/** The entry of a write that this context does. */
function entryOf({ actor, door, origin, now }: Context, action: AuditAction, recordId: string): AuditEntry {
  const time = now();
  return {
    id: newId(time.getTime()),
    createdAt: time.toISOString(),
    action,
    recordId,
    changed: [],
    actorKind: actor.kind as AuditEntry['actorKind'],
    actorId: actor.id,
    actorName: actor.name,
    door,
    address: origin?.ip ?? null,
    requestId: origin?.id ?? null,
  };
}

const insertEntries = prepared('audit entries', db => db.insert(auditLog).select(rowsOf(auditLog, 'rows')));
/** Some megabytes of text. */
const entriesAtOnce = 10_000;

/** Writes down what is done to these records. Belongs into the transaction of the write itself. */
export async function recordWrites(
  context: Context,
  action: AuditAction,
  recordIds: string[],
  changed: string[] = [],
): Promise<void> {
  for (let first = 0; first < recordIds.length; first += entriesAtOnce) {
    const ids = recordIds.slice(first, first + entriesAtOnce);
    const rows = ids.map(id => ({ ...entryOf(context, action, id), changed }));
    await insertEntries(context.db, 'only').execute({ rows: JSON.stringify(rows) });
  }
}

type Recorded = PgTable & { id: PgColumn };

/** Inserts rows, each with its audit entry: both or neither, and what arrives at once in one statement. */
export function auditedInsert<T extends Recorded>(table: T, action: AuditAction) {
  const insert = sharedInsert(action, table, auditLog);
  return async (context: Context, row: T['$inferInsert'] & { id: string }): Promise<void> => {
    await insert(context.db, [row, entryOf(context, action, row.id)]);
  };
}

/** Deletes a row and writes down that it went, in one statement; tells whether there was one. */
export function auditedDelete(table: Recorded, action: AuditAction) {
  const deletion = prepared(action, db => {
    const gone = db.$with('gone').as(
      db
        .delete(table)
        .where(eq(table.id, sql.placeholder('recordId')))
        .returning({ id: table.id }),
    );
    const columns = Object.entries(getTableColumns(auditLog));
    const values = columns.map(
      ([name, column]) => sql`${sql.placeholder(name)}::${sql.raw(column.getSQLType())}`,
    );
    return db
      .with(gone)
      .insert(auditLog)
      .select(sql`select ${sql.join(values, sql`, `)} from ${gone}`)
      .returning({ id: auditLog.id });
  });
  return async (context: Context, id: string): Promise<boolean> => {
    const written = await deletion(context.db, 'only').execute(entryOf(context, action, id));
    return written.length > 0;
  };
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
