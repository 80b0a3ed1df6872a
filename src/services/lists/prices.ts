import type { Context } from '../../access/context.ts';
import type { Connection } from '../../database/connection.ts';

/** Rows that one point pays for, when they are counted or passed. */
export const rowsOfPoint = 10_000;
/** Points above which a list is dear: other reads would wait for its connection. */
const dear = 10;

/**
 * Reads what counts or passes fewer than `most` rows, and otherwise nothing but that there are more. Nobody knows before
 * how many there are, so first as many are counted as cost nothing, then as many as are not dear, then as many as the
 * caller has points for.
 */
export async function readCounting<T>(
  context: Context,
  read: (db: Connection, most: number) => Promise<T>,
  countedIn: (result: T) => number,
  points = 0,
): Promise<T> {
  const { db, budget } = context;
  if (!budget) return read(db, Number.MAX_SAFE_INTEGER);
  budget.check();
  // Before they are used up: what comes at once would have the same points.
  const reach = points === 0 ? 0 : await budget.payer.reserve(points);
  const most = (reach + 1) * rowsOfPoint;
  const isDear = points > dear && !db.isTransaction;
  const result = isDear ? await budget.payer.onDear(dearDb => read(dearDb, most)) : await read(db, most);
  const rows = countedIn(result);
  const isOver = rows >= most;
  // The points for what was counted in vain stay charged.
  if (isOver && reach < points) await budget.charge(1);
  const unused = isOver ? reach : reach - Math.floor(rows / rowsOfPoint);
  if (unused > 0) await budget.charge(-unused);
  if (!isOver) return result;
  return readCounting(context, read, countedIn, points === 0 ? dear : Number.POSITIVE_INFINITY);
}
