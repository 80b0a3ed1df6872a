import { isDeepStrictEqual } from 'node:util';
import { eq, type PgTable } from '../../drizzle/orm.ts';
import type { ReadOnly } from '../../schemas/common.ts';
import { need } from '../access/need.ts';
import { type Condition, requireVersion } from '../core/conditions.ts';
import { conflict } from '../core/conflicts.ts';
import type { Context } from '../core/context.ts';
import { invalid, orNotFound } from '../core/errors.ts';
import { isId } from '../core/ids.ts';
import { timeOfChange } from '../core/instants.ts';
import { orm } from '../database/connection.ts';
import { inTransaction } from '../database/write.ts';
import { recordWrites } from './audit.ts';
import type { Kind, KindTable } from './kinds.ts';

/** A record, locked until the transaction ends. */
export async function lockRecord<T extends KindTable>(
  { db }: Context,
  table: T,
  id: string,
  lock: 'update' | 'no key update',
): Promise<T['$inferSelect'] | undefined> {
  if (!isId(id)) return undefined;
  const [record] = await orm(db).select().from<PgTable>(table).where(eq(table.id, id)).for(lock);
  return record as T['$inferSelect'] | undefined;
}

interface ChangeRules<Stored> {
  /**
   * A rule of the resource: throws when this record may not be changed like this. It runs under the lock of the record, so
   * `stored` is what the change is made to. Other records that it reads may change meanwhile, unless it locks them.
   */
  check?: (stored: Stored, changes: Partial<Stored>, inside: Context) => void | Promise<void>;
}

/** A function that changes a record and returns it. */
export function changeOf<T extends KindTable>(
  { name, title, table }: Kind<T>,
  { check }: ChangeRules<T['$inferSelect']> = {},
) {
  type Stored = T['$inferSelect'];
  return async (
    context: Context,
    id: string,
    input: Partial<Stored>,
    condition?: Condition,
  ): Promise<Stored> => {
    need(context, 'write');
    const change = async (inside: Context) => {
      // The weaker lock: rows that refer to this one can still be written.
      const stored = orNotFound(title, await lockRecord(inside, table, id, 'no key update'));
      requireVersion(condition, stored.version);
      const changes = changesTo(stored, input);
      if (!changes) return stored;
      await check?.(stored, changes, inside);
      const updatedAt = timeOfChange(inside.now(), stored.updatedAt);
      const written = { ...changes, version: stored.version + 1, updatedAt };
      await orm(inside.db).update<PgTable>(table).set(written).where(eq(table.id, id));
      await recordWrites(inside, `${name}.change`, [{ recordId: id, changed: Object.keys(changes) }]);
      return { ...stored, ...written };
    };
    return inTransaction(context, change, { turns: [id] });
  };
}

export const stale = conflict('stale', {
  summary: 'The record was changed since the client read it',
  message: () => 'The record was changed since you read it. Read it again.',
  example: { version: 2 },
});

const constant: readonly string[] = ['id', 'createdAt'] satisfies ReadOnly[];
const growing: readonly string[] = ['version', 'updatedAt'] satisfies ReadOnly[];
const times: readonly string[] = ['createdAt', 'updatedAt'] satisfies ReadOnly[];

/**
 * The members of an input that differ from the stored record. Clients may send back what they read: a constant member
 * that differs is an error, and another `version` or `updatedAt` is a conflict with a later change.
 */
function changesTo<T extends { version: number; updatedAt: string }>(
  stored: T,
  input: Partial<T>,
): Partial<T> | undefined {
  const different = Object.entries(input).filter(
    ([name, value]) => !same(stored[name as keyof T], value, times.includes(name)),
  );
  const message = 'is read-only and differs from the stored value';
  const refused = different.filter(([name]) => constant.includes(name));
  if (refused.length > 0) throw invalid(refused.map(([name]) => ({ in: 'body', path: `/${name}`, message })));
  if (different.some(([name]) => growing.includes(name))) throw stale.error({ version: stored.version });
  return different.length > 0 ? (Object.fromEntries(different) as Partial<T>) : undefined;
}

/** Equal. Times are also equal in another notation: clients print them in their own way. */
const same = (stored: unknown, given: unknown, isTime: boolean) =>
  isDeepStrictEqual(stored, given) || (isTime && Date.parse(String(stored)) === Date.parse(String(given)));
