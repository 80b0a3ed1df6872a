import { and, inArray, isNull, lt, or } from 'drizzle-orm';
import { apiKeys } from '../../drizzle/tables.ts';
import { orm } from '../database/connection.ts';
import type { Database } from '../database/database.ts';
import type { KnownKey } from './knownKey.ts';

/** Milliseconds. A key in constant use is written this often. */
export const writeInterval = 60_000;

/** Writes when keys were last used: once a minute for each key, in one statement for all of them. */
export async function writeLastUses({ writes }: Database, keys: Iterable<KnownKey>): Promise<void> {
  const due = [...keys].filter(({ usedAt, writtenAt }) => usedAt - writtenAt >= writeInterval);
  if (due.length === 0) return;
  const time = Math.max(...due.map(({ usedAt }) => usedAt));
  const ids = due.map(({ id }) => id);
  const longAgo = new Date(time - writeInterval).toISOString();
  await orm(writes)
    .update(apiKeys)
    .set({ lastUsedAt: new Date(time).toISOString() })
    // Another instance may have written a use of the same key meanwhile.
    .where(and(inArray(apiKeys.id, ids), or(isNull(apiKeys.lastUsedAt), lt(apiKeys.lastUsedAt, longAgo))));
  for (const key of due) key.writtenAt = time;
}
