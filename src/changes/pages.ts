import { and, eq, gte, lte } from '#drizzle/orm.ts';
import { auditLog, type Side } from '#drizzle/tables/service/auditLog.ts';
import { changes as changesTable } from '#drizzle/tables/service/changes.ts';
import type { ChangeAction } from '#schemas/service/change.ts';
import type { Context } from '#src/access/context.ts';
import { need } from '#src/access/need.ts';
import { type Row, statement, unknownValue } from '#src/database/statements/statement.ts';
import { nameOfChange } from '#src/records/audit.ts';
import type { Followed } from './followed.ts';
import { type ChangePosition, positionGone } from './position.ts';

/** A committed change of a record. */
export interface Change {
  resource: string;
  id: string;
  action: ChangeAction;
  /** The version that the change made, 0 if it made none. A deletion has the last version plus one. */
  version: number;
  changed: string[];
  at: string;
  /** The record as it is now; null when it is gone. */
  record: { version?: number } | null;
  /** The sides of the record before and after the change. */
  sides: Side[];
  /** The position after the change. */
  position: ChangePosition;
}

export interface ChangePage {
  changes: Change[];
  to: ChangePosition;
  /** Whether the page ends early, because the record of the next change does not show yet: look again soon. */
  isCut?: boolean;
}

const pageSize = 100;
/** Milliseconds around the time of a change in which its record may not show yet. */
const shownWithin = 2000;

const { number, entry } = changesTable;
const { id, createdAt, action, recordId, changed, version, sides } = auditLog;
const columns = { number, entry, id, createdAt, action, recordId, changed, version, sides };
const readEntries = statement(columns, (builder, columns) =>
  builder
    .select(columns)
    .from(changesTable)
    .leftJoin(auditLog, eq(id, entry))
    .where(and(gte(number, unknownValue('from')), lte(number, unknownValue('upTo'))))
    .orderBy(number)
    .limit(pageSize + 1),
);

/**
 * Reads the first changes after a position, up to the newest one. Fails if the change at the position is another one,
 * or if one after it is missing: the reader would lack changes without knowing.
 */
export async function readPage(
  context: Context,
  followed: Followed[],
  from: ChangePosition,
  newest: ChangePosition,
): Promise<ChangePage> {
  need(context, 'read');
  if (from === newest) return { changes: [], to: from };
  const [after, upTo] = [Number.parseInt(from, 10), Number.parseInt(newest, 10)];
  const between = { from: after, upTo: Math.max(after, upTo) };
  const [first, ...entries] = await readEntries(context.db, between);
  const isWhole = entries.every((entry, i) => entry.number === after + 1 + i && entry.id !== null);
  if (!first || positionAt(first) !== from || !isWhole) throw positionGone();
  const changes = entries.map(changeFromEntry);
  const shown = changes.slice(0, await addRecords(context, followed, changes));
  return { changes: shown, to: shown.at(-1)?.position ?? from, isCut: shown.length < changes.length };
}

const positionAt = ({ number, entry }: Pick<Row<typeof columns>, 'number' | 'entry'>): ChangePosition =>
  `${number}.${entry}`;

function changeFromEntry(row: Row<typeof columns>): Change {
  const { recordId: id, version, changed, createdAt: at, sides } = row;
  const [resource = '', action] = nameOfChange(row.action, version).split('.');
  return {
    resource,
    id,
    action: action as ChangeAction,
    version: Number(version),
    changed,
    at,
    record: null,
    sides: sides ?? [],
    position: positionAt(row),
  };
}

/** What an effect gets of a change, besides its record. */
export type RecordedChange = Omit<Change, 'record' | 'sides' | 'position'>;

/** Adds its record to each change; returns how many come before the first that its record does not show yet. */
export async function addRecords(
  context: Context,
  followed: Followed[],
  changes: (RecordedChange & Pick<Change, 'record'>)[],
): Promise<number> {
  need(context, 'read');
  const byResource = Map.groupBy(changes, ({ resource }) => resource);
  const late = new Set<object>();
  const now = context.now().getTime();
  const read = followed.map(async ({ name, readAll, showsLater }) => {
    const own = byResource.get(name);
    const records = own && (await readAll(context, own));
    for (const change of own ?? []) {
      change.record = records?.get(change.id) ?? null;
      // The record of an older change may be gone, or may come from a backup.
      const isNew = showsLater && Math.abs(now - Date.parse(change.at)) < shownWithin;
      if (isNew && !(Number(change.record?.version) >= change.version)) late.add(change);
    }
  });
  await Promise.all(read);
  const first = changes.findIndex(change => late.has(change));
  return first < 0 ? changes.length : first;
}
