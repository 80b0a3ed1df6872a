import { eq, getTableColumns, sql } from 'drizzle-orm';
import { apiKeys } from '../../drizzle/tables.ts';
import type { ApiKey, ApiKeyCreate, ApiKeyQuery, apiKeySorts, NewApiKey } from '../../schemas/apiKey.ts';
import { hashOf, makeToken } from '../access/apiKeyToken.ts';
import { need } from '../access/need.ts';
import type { Context } from '../core/context.ts';
import { invalid, orNotFound } from '../core/errors.ts';
import { isId, newId } from '../core/ids.ts';
import { readInstant } from '../core/instants.ts';
import type { Page } from '../core/pages.ts';
import { orm } from '../database/connection.ts';
import { inTransaction } from '../database/transaction.ts';
import { recordWrites } from './audit.ts';
import { pagedList } from './lists.ts';

/** A record never carries the hash: what is not read cannot leak. */
const { secretHash: _, ...columns } = getTableColumns(apiKeys);

const pageOfKeys = pagedList<ApiKey, 'name', (typeof apiKeySorts)[number]>({
  table: apiKeys,
  columns,
  filters: { name: value => eq(apiKeys.name, value) },
  sorts: { createdAt: [], name: [apiKeys.name] },
});

/** A page of keys, the revoked and expired ones too. */
export async function listKeys(context: Context, query: ApiKeyQuery): Promise<Page<ApiKey>> {
  need(context, 'admin');
  return pageOfKeys(context, query);
}

/** One key; not found when the id is of none. */
export async function getKey(context: Context, id: string): Promise<ApiKey> {
  need(context, 'admin');
  const [key] = isId(id) ? await orm(context.db).select(columns).from(apiKeys).where(eq(apiKeys.id, id)) : [];
  return orNotFound('API key', key);
}

/** The new key with its secret, which nobody can read again; invalid when it would have expired already. */
export async function createKey(context: Context, input: ApiKeyCreate): Promise<NewApiKey> {
  need(context, 'admin');
  const time = context.now();
  const expiresAt = input.expiresAt === undefined ? null : readInstant(input.expiresAt);
  if (expiresAt === undefined || (expiresAt !== null && expiresAt <= time.toISOString()))
    throw invalid([{ in: 'body', path: '/expiresAt', message: 'must be in the future' }]);
  const id = newId(time.getTime());
  const key = makeToken(id);
  const record = {
    id,
    name: input.name,
    scopes: input.scopes,
    createdAt: time.toISOString(),
    expiresAt,
    lastUsedAt: null,
    revokedAt: null,
  };
  await inTransaction(context, async inside => {
    await orm(inside.db)
      .insert(apiKeys)
      .values({ ...record, secretHash: hashOf(key) });
    await recordWrites(inside, 'key.create', [{ recordId: id }]);
  });
  return { ...record, key };
}

/** Ends a key for good; the record stays. To revoke it again changes nothing. */
export async function revokeKey(context: Context, id: string): Promise<void> {
  need(context, 'admin');
  await inTransaction(context, async inside => {
    const { revokedAt } = await getKey(inside, id);
    if (revokedAt !== null) return;
    const revoked = await orm(inside.db)
      .update(apiKeys)
      .set({ revokedAt: inside.now().toISOString() })
      .where(sql`${apiKeys.id} = ${id} and ${apiKeys.revokedAt} is null`)
      .returning({ id: apiKeys.id });
    // Two may have tried at once: one of them did it.
    if (revoked.length > 0) await recordWrites(inside, 'key.revoke', [{ recordId: id }]);
  });
}
