import { sql } from '../../drizzle/orm.ts';
import { need } from '../access/need.ts';
import type { Context } from '../core/context.ts';
import { orNotFound } from '../core/errors.ts';
import { capitalize } from '../core/text.ts';
import { type RecordTable, recordsById } from '../database/statements/recordsById.ts';
import { statement } from '../database/statements/statement.ts';
import { totalOf } from '../database/totals.ts';

/** The table of a kind: every record has a version. */
export type KindTable = RecordTable & { $inferSelect: { id: string; version: number; updatedAt: string } };

/** A kind of record, as the shared functions know it. */
export type Kind<T extends KindTable = KindTable, N extends string = string> = ReturnType<
  typeof kindOf<N, T>
>;

/** `name` is in the audit log, and in error texts and codes; `plural` in paths. */
export function kindOf<N extends string, T extends KindTable>(name: N, plural: string, table: T) {
  const byId = recordsById(table);
  const title = capitalize(name);

  /** One record; not found for any other text. */
  async function get(context: Context, id: string): Promise<T['$inferSelect']> {
    need(context, 'read');
    return orNotFound(title, await byId.one(context.db, id));
  }

  /** The records with these ids, by id. Unknown ids are absent. */
  async function ofIds(context: Context, ids: string[]): Promise<Map<string, T['$inferSelect']>> {
    need(context, 'read');
    return byId.many(context.db, ids);
  }
  return { name, plural, title, table, get, ofIds };
}

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
