import { sql } from '#drizzle/orm.ts';
import { changes } from '#drizzle/tables/service/changes.ts';
import type { Context } from '#src/access/context.ts';
import { need } from '#src/access/need.ts';
import { lowestId } from '#src/core/ids.ts';
import { deleteBatch } from '#src/database/statements/deleteBatch.ts';
import { rowsOf } from '#src/database/statements/statement.ts';
import { write } from '#src/database/write.ts';
import type { ChangePosition } from './position.ts';

/** The most changes that one statement numbers. On the embedded database everybody waits for it. */
const portion = 5000;
const giveNumbers = rowsOf(sql`select newest, newest_entry, given from number_changes(${portion})`);

/**
 * Gives a number to each change that was committed before the call (drizzle/migrations/0004_changes.sql); returns the
 * newest position.
 */
export async function numberChanges(context: Context): Promise<ChangePosition> {
  need(context, 'read');
  for (;;) {
    const [[number, entry, given] = []] = await write(context, ({ db }) => giveNumbers(db));
    if (Number(given) < portion) return `${Number(number)}.${entry}`;
  }
}

/**
 * Deletes a batch of the numbers of changes made before a time, but for the last of them: somebody who has read it
 * lacks nothing. Returns how many.
 */
export async function trimNumbers(context: Context, before: Date): Promise<number> {
  need(context, 'admin');
  const { number, entry } = changes;
  const firstKept = sql`(select ${number} from ${changes} where ${entry} >= ${lowestId(before)} order by ${number} limit 1)`;
  return deleteBatch(context.db, { key: number, matching: sql`${number} < ${firstKept} - 1` });
}
