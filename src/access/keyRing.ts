import { and, inArray, isNull, lt, or } from '../../drizzle/orm.ts';
import { apiKeys } from '../../drizzle/tables/apiKeys.ts';
import type { Actor } from '../core/actor.ts';
import { unavailable } from '../core/errors.ts';
import { keptIn, setBounded } from '../core/kept.ts';
import type { Log } from '../core/log.ts';
import { watchService } from '../core/watch.ts';
import { orm } from '../database/connection.ts';
import type { Database } from '../database/database.ts';
import { recordById } from '../database/statements/recordById.ts';
import { idOf, isWellFormed, publicId, publicIdOf } from './apiKeyToken.ts';
import { KnownKey, mistypedKey, unknownKey } from './knownKey.ts';

/** Milliseconds. Cached keys are read again this often, so all instances see a revocation within `trustedFor`. */
const refreshInterval = 2000;
const trustedFor = 4000;
/** Milliseconds. The last use of a key in constant use is written this often. */
const writeInterval = 60_000;
const idleAfter = 2 * writeInterval;
const maxKeys = 10_000;
const keyById = recordById(apiKeys);

export interface KeyRingDependencies {
  database: Database;
  log: Log;
  now: () => Date;
}

/** A cache of the API keys in use: a request with one of them needs no query. */
export class KeyRing {
  readonly #dependencies: KeyRingDependencies;
  readonly #keys = new Map<string, KnownKey>();
  readonly #lookups = new Map<string, Promise<void>>();
  readonly #refreshing: ReturnType<typeof watchService>;

  constructor(dependencies: KeyRingDependencies) {
    this.#dependencies = dependencies;
    this.#refreshing = watchService({
      check: () => this.#refresh(),
      every: refreshInterval,
      cannotTell: () => this.#keys.size === 0 || !dependencies.database.available(),
      log: dependencies.log,
      level: 'warn',
      // The next request with each key looks it up.
      away: 'The API keys in use cannot be read again.',
      back: 'The API keys in use are read again.',
    });
  }

  get size(): number {
    return this.#keys.size;
  }

  /** The caller, if the key is cached; undefined when it must be looked up. Throws when the key is invalid. */
  recall(token: string): Actor | undefined {
    const key = this.#keys.get(publicId(token));
    if (key !== undefined && performance.now() <= key.trustedUntil)
      return key.admit(token, this.#dependencies.now());
    if (!isWellFormed(token)) throw mistypedKey();
    return undefined;
  }

  /** The caller, looked up in the database. */
  async find(token: string): Promise<Actor> {
    const { database, now } = this.#dependencies;
    if (!database.available()) throw unavailable();
    await this.#lookUp(idOf(token));
    const key = this.#keys.get(publicId(token));
    if (key === undefined) throw unknownKey();
    return key.admit(token, now());
  }

  /** Drops a key that this instance has just revoked. */
  forget(id: string): void {
    this.#keys.delete(publicIdOf(id));
  }

  async close(): Promise<void> {
    await this.#refreshing.close();
    await writeLastUses(this.#dependencies.database, this.#keys.values()).catch(() => {});
  }

  /** Requests with the same key share one query: while it waits for a lock, more of them would fill the connections. */
  #lookUp(id: string): Promise<void> {
    return keptIn(this.#lookups, id, () => this.#read(id).finally(() => this.#lookups.delete(id)));
  }

  async #read(id: string): Promise<void> {
    // From before the query, which may miss a revocation that commits while it runs.
    const trustedUntil = performance.now() + trustedFor;
    const row = await keyById(this.#dependencies.database.reads, id);
    const name = publicIdOf(id);
    if (row === undefined) this.#keys.delete(name);
    else setBounded(this.#keys, name, new KnownKey(row, trustedUntil, this.#keys.get(name)), maxKeys);
  }

  /** Reads all keys in use again and drops the idle ones. */
  async #refresh(): Promise<void> {
    const { database, now } = this.#dependencies;
    await writeLastUses(database, this.#keys.values());
    const idle = now().getTime() - idleAfter;
    for (const [id, { usedAt }] of this.#keys) if (usedAt < idle) this.#keys.delete(id);
    await Promise.all([...this.#keys.values()].map(({ id }) => this.#read(id)));
  }
}

/** Writes when keys were last used: once a minute for each key, in one statement for all. */
async function writeLastUses({ writes }: Database, keys: Iterable<KnownKey>): Promise<void> {
  const due = [...keys].filter(({ usedAt, writtenAt }) => usedAt - writtenAt >= writeInterval);
  if (due.length === 0) return;
  const time = Math.max(...due.map(({ usedAt }) => usedAt));
  const ids = due.map(({ id }) => id);
  const longAgo = new Date(time - writeInterval).toISOString();
  await orm(writes)
    .update(apiKeys)
    .set({ lastUsedAt: new Date(time).toISOString() })
    // Another instance may have written a use of the same key since then.
    .where(and(inArray(apiKeys.id, ids), or(isNull(apiKeys.lastUsedAt), lt(apiKeys.lastUsedAt, longAgo))));
  for (const key of due) key.writtenAt = time;
}
