import { and, asc, eq, getTableColumns, gt, inArray, isNull, lte, type SQL } from '#drizzle/orm.ts';
import { persons } from '#drizzle/persons.ts';
import { apiKeys } from '#drizzle/tables/service/apiKeys.ts';
import type { ApiKey, ApiKeyCreate, apiKeySorts, NewApiKey } from '#schemas/service/apiKey.ts';
import type { EndingKey } from '#schemas/service/overview.ts';
import type { Context } from '#src/access/context.ts';
import { hashToken, makeToken } from '#src/access/credentials/apiKeyToken.ts';
import { trustNothing } from '#src/access/credentials/trust.ts';
import { need } from '#src/access/need.ts';
import { type Condition, requireVersion } from '#src/core/conditions.ts';
import { invalid, orNotFound } from '#src/core/errors.ts';
import { isId, newRecord } from '#src/core/ids.ts';
import { readInstant } from '#src/core/instants.ts';
import { orm } from '#src/database/connection.ts';
import { inTransaction } from '#src/database/write.ts';
import { recordWrites } from '#src/records/audit.ts';
import { PagedList } from '#src/records/lists/pagedList.ts';

/** A record never carries the hash: what is not read cannot leak. */
const { secretHash: _, ...columns } = getTableColumns(apiKeys);

/** The list of all keys, including revoked and expired ones. */
export const keyList = new PagedList<ApiKey, 'name', (typeof apiKeySorts)[number]>({
  scope: 'admin',
  table: apiKeys,
  columns,
  filters: { name: apiKeys.name },
  sorts: { name: [apiKeys.name] },
});

/** Returns the key with this id; throws not found if there is none, or if the text is no id. */
export async function getKey(context: Context, id: string): Promise<ApiKey> {
  need(context, 'admin');
  const [key] = isId(id) ? await orm(context.db).select(columns).from(apiKeys).where(eq(apiKeys.id, id)) : [];
  return orNotFound('API key', key);
}

const week = 7 * 24 * 3_600_000;

/** The keys, at most 10, that will stop working within seven days unless they are replaced; the next one first. */
export async function listEndingKeys(context: Context): Promise<EndingKey[]> {
  need(context, 'admin');
  const { id, name, expiresAt, lastUsedAt } = columns;
  const now = context.now();
  const isEnding = and(
    isNull(columns.revokedAt),
    gt(expiresAt, now.toISOString()),
    lte(expiresAt, new Date(now.getTime() + week).toISOString()),
  );
  const ending = orm(context.db).select({ id, name, expiresAt, lastUsedAt }).from(apiKeys).where(isEnding);
  return (await ending.orderBy(asc(expiresAt), asc(id)).limit(10)) as EndingKey[];
}

/** Returns a new key with its secret, which nobody can read again; refuses one that would have expired already. */
export async function createKey(context: Context, input: ApiKeyCreate): Promise<NewApiKey> {
  need(context, 'admin');
  const expiresAt = input.expiresAt === undefined ? null : readInstant(input.expiresAt);
  if (expiresAt === undefined || (expiresAt !== null && expiresAt <= context.now().toISOString()))
    throw invalid([{ in: 'body', path: '/expiresAt', message: 'must be in the future' }]);
  const { id, createdAt } = newRecord(context);
  const key = makeToken(id);
  const { name, scopes, userId = null } = input;
  if (scopes.includes('own') !== (userId !== null))
    throw wrongUser(userId === null ? 'is required for the scope "own"' : 'is only for the scope "own"');
  const record = { id, name, scopes, userId, createdAt, expiresAt, lastUsedAt: null, revokedAt: null };
  await inTransaction(context, async inside => {
    await requireUser(inside, userId);
    await orm(inside.db)
      .insert(apiKeys)
      .values({ ...record, secretHash: hashToken(key) });
    await recordWrites(inside, 'key.create', [{ recordId: id }]);
  });
  return { ...record, key };
}

const wrongUser = (message: string) => invalid([{ in: 'body', path: '/userId', message }]);

/** Locks the user until the key is stored, so that a deletion of the user finds and revokes the key. */
async function requireUser({ db }: Context, id: string | null): Promise<void> {
  if (id === null) return;
  const [user] = await orm(db).select().from(persons).where(eq(persons.id, id)).for('key share');
  if (!user) throw wrongUser('is the id of no user');
}

/** Ends a key for good; the record stays. Revoking it again changes nothing. */
export async function revokeKey(context: Context, id: string, condition?: Condition): Promise<void> {
  need(context, 'admin');
  await inTransaction(context, async inside => {
    await getKey(inside, id);
    requireVersion(condition);
    await revoke(inside, eq(apiKeys.id, id));
  });
}

/** Revokes the keys of users in the transaction that deletes them. Once it commits, keys and persons are read anew. */
export const revokeKeysOf = (inside: Context, userIds: string[]) =>
  revoke(inside, inArray(apiKeys.userId, userIds));

async function revoke(inside: Context, which: SQL): Promise<void> {
  inside.afterwards?.push(trustNothing);
  const revoked = await orm(inside.db)
    .update(apiKeys)
    .set({ revokedAt: inside.now().toISOString() })
    .where(and(which, isNull(apiKeys.revokedAt)))
    .returning({ recordId: apiKeys.id });
  await recordWrites(inside, 'key.revoke', revoked);
}
