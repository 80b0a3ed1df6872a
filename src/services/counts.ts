import { sql } from '../../drizzle/orm.ts';
import { need } from '../access/need.ts';
import type { Context } from '../core/context.ts';
import { statement } from '../database/statements/statement.ts';
import { totalOf } from '../database/totals.ts';
import type { Kind } from './kinds.ts';

/** A function that tells how many records of each kind there are, by the plural of its name. */
export function counterOf(kinds: Kind[]) {
  const totals = Object.fromEntries(kinds.map(({ plural, table }) => [plural, totalOf(table)]));
  const read = statement(totals, (builder, columns) =>
    builder.select(columns).from(sql`(select) as nothing`),
  );
  return async function countRecords(context: Context): Promise<Record<string, number>> {
    need(context, 'read');
    const [counts = {}] = await read(context.db);
    return counts;
  };
}
