import { and, eq, isNull, lt, or } from '#drizzle/orm.ts';
import { apiKeys } from '#drizzle/tables/service/apiKeys.ts';
import { type Actor, withIncludedScopes } from '#src/core/actor.ts';
import { invalidToken, unavailable } from '#src/core/errors.ts';
import { keptIn, setBounded } from '#src/core/kept.ts';
import { orm } from '#src/database/connection.ts';
import type { Database } from '#src/database/database.ts';
import { recordById } from '#src/database/statements/recordById.ts';
import { idInToken, isWellFormed, matches } from './apiKeyToken.ts';
import { isTrusted } from './trust.ts';

/** Milliseconds after which a request rereads its key in the background, so a key in use is always known. */
const readAgainAfter = 2000;
/** Milliseconds between two writes of the last use of a key in constant use. */
const writeInterval = 60_000;
const maxKeys = 10_000;
const keyById = recordById(apiKeys);

type KnownKey = ReturnType<typeof knownKey>;

/** A cache of the API keys in use: a request with one of them needs no query. */
export function openKeyRing({ database, now }: { database: Database; now: () => Date }) {
  const keys = new Map<string, KnownKey>();
  const lookups = new Map<string, Promise<void>>();

  /** The caller, if the key is known; undefined when `find` must look it up. Throws when the key is invalid. */
  function recall(token: string): Actor | Promise<Actor> | undefined {
    const id = idInToken(token);
    const key = keys.get(id);
    if (key === undefined) {
      if (!isWellFormed(token)) throw mistypedKey();
      return undefined;
    }
    const actor = admit(token, key);
    // A known key is no guess, so the limit of lookups does not apply.
    if (!isTrusted(key.readAt)) return find(token);
    if (performance.now() - key.readAt > readAgainAfter) void lookUp(id).catch(() => {});
    return actor;
  }

  /** The caller, looked up in the database. */
  async function find(token: string): Promise<Actor> {
    if (!database.available()) throw unavailable();
    const id = idInToken(token);
    await lookUp(id);
    const shared = keys.get(id);
    // The shared query may have begun before a revocation. The next query begins now.
    if (shared && !isTrusted(shared.readAt)) await lookUp(id);
    const key = keys.get(id);
    if (key === undefined) throw unknownKey();
    return admit(token, key);
  }

  function admit(token: string, key: KnownKey): Actor {
    if (!matches(token, key.hash)) throw isWellFormed(token) ? unknownKey() : mistypedKey();
    if (key.isRevoked) throw invalidToken('The API key was revoked.');
    const time = now();
    if (time.getTime() >= key.expiresAt) throw invalidToken('The API key has expired.');
    if (time.getTime() - key.usedAt >= writeInterval) writeUse(key, time);
    return key.actor;
  }

  /** Requests with the same key share one query: several would fill the connections while they wait for a lock. */
  function lookUp(id: string): Promise<void> {
    return keptIn(lookups, id, () => read(id).finally(() => lookups.delete(id)));
  }

  async function read(id: string): Promise<void> {
    // The time is read before the query, which may miss a revocation that commits while it runs.
    const readAt = performance.now();
    const row = await keyById(database.reads, id);
    if (row === undefined) keys.delete(id);
    else setBounded(keys, id, knownKey(row, readAt), maxKeys);
  }

  /** Writes the last use; no request waits for it. A failed write is tried again once the key is read again. */
  function writeUse(key: KnownKey, time: Date): void {
    key.usedAt = time.getTime();
    const { id, lastUsedAt } = apiKeys;
    // Another instance may have written a use of the same key meanwhile.
    const isLongAgo = lt(lastUsedAt, new Date(key.usedAt - writeInterval).toISOString());
    void orm(database.writes)
      .update(apiKeys)
      .set({ lastUsedAt: time.toISOString() })
      .where(and(eq(id, key.id), or(isNull(lastUsedAt), isLongAgo)))
      .catch(() => {});
  }

  return { recall, find, size: () => keys.size };
}

/** An API key as it was read from the database at this time, on the monotonic clock. */
function knownKey(row: typeof apiKeys.$inferSelect, readAt: number) {
  const { id, name, userId: person, scopes, secretHash, expiresAt, lastUsedAt, revokedAt } = row;
  return {
    id,
    isRevoked: revokedAt !== null,
    actor: { kind: 'key', id, name, scopes: withIncludedScopes(scopes), person } satisfies Actor,
    hash: Buffer.from(secretHash, 'latin1'),
    expiresAt: expiresAt === null ? Number.POSITIVE_INFINITY : Date.parse(expiresAt),
    /** The last use that the database has, or is about to have. */
    usedAt: lastUsedAt === null ? 0 : Date.parse(lastUsedAt),
    readAt,
  };
}

const unknownKey = () => invalidToken('The API key is unknown.');
const mistypedKey = () => invalidToken('The API key is mistyped: its checksum is wrong.');
