import { sql } from '#drizzle/orm.ts';
import { auditLog, type Side } from '#drizzle/tables/service/auditLog.ts';
import type { Context } from '#src/access/context.ts';
import { need } from '#src/access/need.ts';
import { lowestId } from '#src/core/ids.ts';
import type { Connection } from '#src/database/connection.ts';
import { type Row, rowsOf, statement, unknownValue } from '#src/database/statements/statement.ts';
import type { Followed } from './followed.ts';
import { type ChangePosition, positionGone, positionText } from './position.ts';

/** A committed change of a record. */
export interface Change {
  resource: string;
  id: string;
  action: string;
  /** The version that the change made. A deletion has the last version plus one. */
  version: number;
  changed: string[];
  at: string;
  /** The record as it is now; null when it is gone. */
  record: { version?: number } | null;
  /** The sides of the record before and after the change. */
  sides: Side[];
  /** The position after the change. */
  position: string;
}

export interface ChangePage {
  changes: Change[];
  to: ChangePosition;
  /** Whether the page ends early, because the record of the next change does not show yet: look again soon. */
  isCut?: boolean;
}

const pageSize = 100;
/**
 * Milliseconds by which an entry may be older than an earlier position, due to a long transaction or another clock.
 * The bound matters in a restored database, where old entries have numbers of transactions that are yet to come.
 */
export const maxEntryLag = 3_600_000;

/** Milliseconds around the time of a change in which its record may not show yet. */
const shownWithin = 2000;

const isFollowed = sql`${auditLog.version} is not null`;
/**
 * A snapshot of what is visible now, up to the newest change. Later transactions may have failed: after a crash,
 * PostgreSQL can give their numbers to other transactions, whose changes would count as seen.
 */
const currentSnapshot = sql`(
  select concat(least(pg_snapshot_xmin(now), next), ':', next, ':', (
    select string_agg(xip::text, ',' order by xip) from pg_snapshot_xip(now) as xip where xip < next))::pg_snapshot
  from pg_current_snapshot() as now, coalesce((
    select (transaction::text::bigint + 1)::text::xid8 from ${auditLog}
    where ${isFollowed} and transaction < pg_snapshot_xmax(now) order by transaction desc limit 1), '3') as next)`;
/** Reads the later snapshot, whether `seen` is of another database, and the first change between the two. */
const nextChange = rowsOf(sql`
  select until::text, pg_snapshot_xmax(seen) > pg_snapshot_xmax(pg_current_snapshot()), (
    select min(number) from (
      select number, transaction, id from ${auditLog}
      where ${isFollowed} and transaction >= pg_snapshot_xmax(seen) and transaction < pg_snapshot_xmax(until)
      union all select number, transaction, id from ${auditLog}
      where ${isFollowed} and transaction = any (array(select pg_snapshot_xip(seen)))
      offset 0
    ) as later where id >= ${sql.placeholder('lowest')}::uuid and pg_visible_in_snapshot(transaction, until))
  from (select coalesce(${sql.placeholder('until')}::pg_snapshot, ${currentSnapshot}) as until,
    coalesce(${sql.placeholder('seen')}::pg_snapshot, ${currentSnapshot}) as seen) as snapshots`);

const { id, number, createdAt, action, recordId, changed, version, sides, transaction } = auditLog;
const isVisibleIn = (name: string) =>
  sql`pg_visible_in_snapshot(${transaction}, ${unknownValue(name, 'pg_snapshot')})`;
const columns = { number, createdAt, action, recordId, changed, version, sides };
const readEntries = statement(columns, (builder, columns) =>
  builder
    .select(columns)
    .from(auditLog)
    .where(
      sql`${number} > ${unknownValue('after')} and ${isFollowed} and ${id} >= ${unknownValue('lowest', 'uuid')}
        and not ${isVisibleIn('seen')} and ${isVisibleIn('until')}`,
    )
    .orderBy(number)
    .limit(pageSize + 1),
);

/**
 * Reads the first changes after a position, up to a snapshot or else up to now. A snapshot sees all that an earlier one
 * sees, so their difference is exact: a transaction that begins early and commits late is in it as soon as it has
 * committed, and delays nobody until then. Without a position, it reads no changes and returns the current one.
 */
export async function readPage(
  context: Context,
  followed: Followed[],
  from?: ChangePosition,
  upTo: string | null = null,
): Promise<ChangePage> {
  need(context, 'read');
  const { db, now } = context;
  const { seen = null, until } = from ?? {};
  // A position on the way to a later snapshot keeps its time: that snapshot gets no newer.
  const time = until && from ? from.time : now().getTime();
  const lowest = lowestId(new Date((from?.time ?? time) - maxEntryLag));
  const next = until ?? (await nextSnapshot(db, { seen, until: upTo, lowest }));
  if (!seen || next.after === null) return { changes: [], to: { time, seen: upTo ?? seen ?? next.seen } };
  const entries = await readEntries(db, { seen, until: next.seen, after: next.after, lowest });
  const isLast = entries.length <= pageSize;
  const positionAt = (i: number): ChangePosition =>
    isLast && i === entries.length - 1
      ? { time, seen: next.seen }
      : { time: from?.time ?? time, seen, until: { seen: next.seen, after: entries[i]?.number ?? 0 } };
  const changes = entries
    .slice(0, pageSize)
    .map((entry, i) => changeFromEntry(entry, positionText(positionAt(i))));
  const late = await addRecords(context, followed, changes);
  if (late < 0) return { changes, to: positionAt(changes.length - 1) };
  const to = late > 0 ? positionAt(late - 1) : (from as ChangePosition);
  return { changes: changes.slice(0, late), to, isCut: true };
}

/** Returns a later snapshot, and the number before the first change that it sees and the earlier one does not. */
async function nextSnapshot(
  db: Connection,
  between: { seen: string | null; until: string | null; lowest: string },
): Promise<{ seen: string; after: number | null }> {
  const [[later, isLost, first] = []] = await nextChange(db, between);
  if (isLost) throw positionGone();
  return { seen: String(later), after: first === null ? null : Number(first) - 1 };
}

function changeFromEntry(
  { action: name, recordId: id, version, changed, createdAt: at, sides }: Row<typeof columns>,
  position: string,
): Change {
  const [resource = '', verb = ''] = name.split('.');
  // The action that made version 1 created the record. Any other action, such as one of a handler, is a change.
  const action = version === 1 ? 'create' : verb === 'delete' ? 'delete' : 'change';
  return {
    resource,
    id,
    action,
    version: Number(version),
    changed,
    at,
    record: null,
    sides: sides ?? [],
    position,
  };
}

/** Adds its record to each change; returns the index of the first change that its record does not show yet, or -1. */
async function addRecords(context: Context, followed: Followed[], changes: Change[]): Promise<number> {
  const byResource = Map.groupBy(changes, ({ resource }) => resource);
  const late = new Set<Change>();
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
  return changes.findIndex(change => late.has(change));
}
