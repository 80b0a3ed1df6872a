import type { Context } from '#src/access/context.ts';
import type { Connection } from '#src/database/connection.ts';

/** Rows that one point pays for, when they are counted or passed. */
export const rowsOfPoint = 10_000;
/** Points above which a list is dear: other reads would wait for its connection. */
const dear = 10;

/** Reads on the connection for what is dear, if that passes so many rows. */
export const readPassing = <T>(
  { db, budget }: Context,
  rows: number,
  read: (db: Connection) => Promise<T>,
): Promise<T> =>
  budget && rows > dear * rowsOfPoint && !db.isTransaction ? budget.payer.onDear(read) : read(db);

/**
 * Reads what counts or passes fewer than `most` rows, and otherwise nothing but that there are more. Nobody knows before
 * how many there are, so first as many are counted as cost nothing, then as many as are not dear, then as many as the
 * caller has points for.
 */
export async function readCounting<T>(
  caller: Context,
  read: (db: Connection, most: number) => Promise<T>,
  countedIn: (result: T) => number,
): Promise<T> {
  const { db, budget } = caller;
  if (!budget) return read(db, Number.MAX_SAFE_INTEGER);
  const { payer } = budget;
  const readFor = async (points: number, db: Connection) => {
    budget.check();
    const result = await read(db, (points + 1) * rowsOfPoint);
    const price = Math.floor(countedIn(result) / rowsOfPoint);
    return price > points ? undefined : { result, price };
  };
  const free = await readFor(0, db);
  if (free) return free.result;
  // Before the rows are counted: what comes at once would have the same points.
  const reserved = await payer.reserve(dear);
  const found = await readFor(reserved, db);
  if (!found && reserved < dear) await budget.charge(1);
  await budget.charge((found?.price ?? 0) - reserved);
  if (found) return found.result;
  return readPassing(caller, Number.POSITIVE_INFINITY, async db => {
    // One at a time has all that is left, so nothing is reserved for it: other requests go on.
    for (;;) {
      const left = await payer.left();
      const found = await readFor(left, db);
      // Others have given back what was reserved for them.
      if (!found && (await payer.left()) > left) continue;
      await budget.charge(found?.price ?? left + 1);
      if (found) return found.result;
    }
  });
}
