import type { Context } from '#src/access/context.ts';
import type { Connection } from '#src/database/connection.ts';

/** Rows that may be counted or passed for one point. */
export const rowsPerPoint = 10_000;
/** Points above which a list is costly: other reads would wait for the connection that it uses. */
export const costlyAbove = 10;

/** Reads on the connection for costly work if it passes so many rows. A transaction keeps its own connection. */
export const readOnConnectionFor = <T>(
  { db, budget }: Context,
  rows: number,
  read: (db: Connection) => Promise<T>,
): Promise<T> =>
  budget && rows > costlyAbove * rowsPerPoint && !db.isTransaction ? budget.payer.onCostly(read) : read(db);

/**
 * Reads a list with a limit on the rows that are counted or passed, and charges for them. Nobody knows yet how many
 * there are, so it tries up to three limits: what costs nothing, what is not costly, what the caller has points for.
 */
export async function readAndCharge<T>(
  inside: Context,
  read: (db: Connection, most: number) => Promise<T>,
  countedIn: (result: T) => number,
  /** Whether reading may take long before any row is counted. */
  isSlow = false,
): Promise<T> {
  const { db, budget } = inside;
  if (!budget) return read(db, Number.MAX_SAFE_INTEGER);
  const { payer } = budget;
  const passed = isSlow ? Number.POSITIVE_INFINITY : 0;
  const readFor = async (points: number, db: Connection) => {
    budget.check();
    const result = await read(db, (points + 1) * rowsPerPoint);
    const price = Math.floor(countedIn(result) / rowsPerPoint);
    return price > points ? undefined : { result, price };
  };
  const free = await readOnConnectionFor(inside, passed, db => readFor(0, db));
  if (free) return free.result;
  // Reserves points before the rows are counted: parallel reads would spend the same points.
  const reserved = await payer.reserve(costlyAbove);
  const found = await readOnConnectionFor(inside, passed, db => readFor(reserved, db));
  // Fails unless others have given points back, because all that were left are reserved.
  if (!found && reserved < costlyAbove) await budget.charge(1);
  await budget.charge((found?.price ?? 0) - reserved);
  if (found) return found.result;
  return readOnConnectionFor(inside, Number.POSITIVE_INFINITY, async db => {
    // Reserves nothing, so that other requests go on: one costly read of an account at a time uses what is left.
    for (;;) {
      const left = await payer.left();
      const found = await readFor(left, db);
      // Tries again with more points, because other reads have given back what they had reserved.
      if (!found && (await payer.left()) > left) continue;
      await budget.charge(found?.price ?? left + 1);
      if (found) return found.result;
    }
  });
}
