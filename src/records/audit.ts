import { and, count, getTableColumns, gte, is, isNotNull, lt, SQL, sql } from '#drizzle/orm.ts';
import { auditLog, type Side } from '#drizzle/tables/service/auditLog.ts';
import type { AuditAction, AuditEntry } from '#schemas/service/audit.ts';
import type { Sample } from '#schemas/service/overview.ts';
import type { Context } from '#src/access/context.ts';
import { need } from '#src/access/need.ts';
import { lowestId, newRecord } from '#src/core/ids.ts';
import { orm } from '#src/database/connection.ts';
import { deleteBatch } from '#src/database/statements/deleteBatch.ts';
import { rowsOfTable } from '#src/database/statements/insertRows.ts';
import { builder, rowsOf } from '#src/database/statements/statement.ts';
import { PagedList } from './lists/pagedList.ts';
import { makeSide, type Sided } from './relations.ts';
import type { ResourceTable } from './resource.ts';

/** What an entry says besides who, when and from where. */
export interface Write
  extends Pick<AuditEntry, 'recordId'>,
    Partial<Pick<AuditEntry, 'changed' | 'details'>> {
  /** The version that the write made, for those who follow the changes of records. */
  version?: number;
  sides?: Side[];
}
type Entry = typeof auditLog.$inferInsert;

/** The name of the change that an entry records, such as `user.create`. */
export function nameOfChange(action: string, version: number | null): string {
  const [resource, verb] = action.split('.');
  // The action that made version 1 created the record. Any other action, such as one of a handler, is a change.
  return `${resource}.${version === 1 ? 'create' : verb === 'delete' ? 'delete' : 'change'}`;
}

function makeEntry(context: Context, action: AuditAction, write: Write): Entry {
  const { actor, transport, origin, effects, afterwards } = context;
  const { id, createdAt } = newRecord(context);
  // An entry without a version, such as that of a key, is no change of a record.
  const change = write.version === undefined ? '' : nameOfChange(action, write.version);
  const effect = effects?.names.has(change) ? change : null;
  if (effects && effect) afterwards?.push(effects.call);
  return {
    id,
    createdAt,
    action,
    changed: [],
    actorKind: actor.kind as Entry['actorKind'],
    actorId: actor.id,
    actorName: actor.name,
    transport,
    address: origin?.ip ?? null,
    requestId: origin?.id ?? null,
    details: actor.person ? { person: actor.person } : null,
    version: null,
    sides: null,
    effect,
    ...write,
  };
}

const { ordinal, effect, ...columns } = getTableColumns(auditLog);
const insertEntries = rowsOf(builder.insert(auditLog).select(rowsOfTable(auditLog)));

/** Adds the entries of writes. It runs in the transaction of the writes, under the locks of the records. */
export async function recordWrites(context: Context, action: AuditAction, writes: Write[]): Promise<void> {
  if (writes.length === 0) return;
  const rows = writes.map(write => makeEntry(context, action, write));
  await insertEntries(context.db, { $rows: JSON.stringify(rows) });
}

type NewRecord = ReturnType<typeof newRecord>;
type Recorded<T extends ResourceTable> = Sided & { table: T; name: string };

/**
 * A function that inserts a new record and its audit entry in one statement, and returns the record. The entry is not
 * sent as JSON, as those of other writes are: PostgreSQL would spend a quarter of the statement on reading the JSON.
 */
export function insertWithEntry<T extends ResourceTable>(resource: Recorded<T>) {
  const { name, table } = resource;
  const columns = Object.keys(getTableColumns(table)).map(name => [name, sql.placeholder(name)]);
  const row: T['$inferInsert'] = Object.fromEntries(columns);
  const written = builder.$with('written').as(builder.insert(table).values(row).returning({ id: table.id }));
  const action = `${name}.create` as const;
  /** What is the same in each entry. A parameter would cost more. */
  const same: Partial<Record<string, SQL>> = {
    action: sql.raw(`'${action}'`),
    recordId: sql`${written.id}::text`,
    changed: sql`'{}'`,
    version: sql`1`,
  };
  /** The members of the entry by placeholder. The prefix keeps them apart from members of the record, such as `id`. */
  const ofEntry: [string, keyof Entry][] = [];
  const entryColumns = Object.entries(getTableColumns(auditLog)).map(([member, column]) => {
    const value = same[member] ?? column.default;
    if (is(value, SQL)) return value;
    ofEntry.push([`entry ${member}`, member as keyof Entry]);
    return sql`${sql.placeholder(`entry ${member}`)}::${sql.raw(column.getSQLType())}`;
  });
  const insert = rowsOf(
    builder
      .with(written)
      .insert(auditLog)
      .select(sql`select ${sql.join(entryColumns, sql`, `)} from ${written}`),
  );
  type Members = Omit<T['$inferSelect'], keyof NewRecord>;
  return async (context: Context, members: Members): Promise<Members & NewRecord> => {
    // `registerMe` passes the id in `members`, because the entry names the new person as the actor.
    const record = { ...newRecord(context), ...members };
    const write = { recordId: record.id, version: 1, sides: [makeSide(resource, record)] };
    const entry = makeEntry(context, action, write);
    const values: Record<string, unknown> = { ...record };
    for (const [placeholder, member] of ofEntry) {
      const value = entry[member];
      values[placeholder] = value instanceof Object ? JSON.stringify(value) : value;
    }
    await insert(context.db, values);
    return record;
  };
}

/** The newest entries come first. */
export const auditList = new PagedList<AuditEntry, 'record' | 'actor' | 'action', 'createdAt'>({
  scope: 'admin',
  table: auditLog,
  columns,
  filters: { record: auditLog.recordId, actor: auditLog.actorId, action: auditLog.action },
});

/** Counts the changes of records from one time until another, by kind. */
export async function countChanges(context: Context, from: Date, to: Date): Promise<Sample['changes']> {
  need(context, 'admin');
  const { id, action, version } = auditLog;
  // Says in SQL what `nameOfChange` says.
  const kind = sql<string>`case when ${version} = 1 then 'create' when ${action} like '%.delete' then 'delete' else 'change' end`;
  const rows = await orm(context.db)
    .select({ kind, total: count() })
    .from(auditLog)
    .where(and(gte(id, lowestId(from)), lt(id, lowestId(to)), isNotNull(version)))
    .groupBy(sql`1`);
  const totalOf = (name: string) => rows.find(row => row.kind === name)?.total ?? 0;
  return { create: totalOf('create'), change: totalOf('change'), delete: totalOf('delete') };
}

/** Deletes a batch of the entries made before a time; returns how many. */
export async function trimAudit(context: Context, before: Date): Promise<number> {
  need(context, 'admin');
  const { id, createdAt } = auditLog;
  // A trigger keeps the entries of the last day, by the clock of the database, which may be behind ours.
  const matching = sql`${id} < ${lowestId(before)} and ${createdAt} < now() - interval '1 day'`;
  return deleteBatch(context.db, { key: id, matching });
}
