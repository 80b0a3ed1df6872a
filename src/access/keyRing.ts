import { and, inArray, isNull, lt, or } from 'drizzle-orm';
import { apiKeys } from '../../drizzle/tables.ts';
import { type Actor, withIncludedScopes } from '../core/actor.ts';
import { AppError, unavailable } from '../core/errors.ts';
import type { Log } from '../core/log.ts';
import { orm } from '../database/connection.ts';
import type { Database } from '../database/database.ts';
import { idOf, isWellFormed, matches, publicId, sameText } from './apiKeyToken.ts';

/** Every known key is read again this often, so a revocation is seen everywhere within `trustedFor`. */
const readAgainEvery = 2000;
const trustedFor = 4000;
const usesWrittenEvery = 60_000;
const mostKeys = 10_000;

interface Known {
  actor: Actor;
  hash: Buffer;
  /** The token itself, once its hash was right: to compare it costs a tenth of hashing it again. */
  token: Buffer | undefined;
  expiresAt: number;
  revoked: boolean;
  /** By the clock that never steps back. After it the key must be read again. */
  trustedUntil: number;
  usedAt: number;
  writtenAt: number;
}

export const refused = (message: string) =>
  new AppError('unauthenticated', message, { code: 'unauthenticated', reason: 'invalid_token' });

const unknown = () => refused('The API key is not known.');
const mistyped = () => refused('The API key is mistyped: its checksum is wrong.');

export interface KeyRingParts {
  database: Database;
  log: Log;
  now: () => Date;
}

/** The keys in use, kept in memory: a request with one of them costs no query. */
export class KeyRing {
  readonly #parts: KeyRingParts;
  readonly #known = new Map<string, Known>();
  readonly #asked = new Map<string, Promise<Known | undefined>>();
  #timer: NodeJS.Timeout | undefined;
  #reading: Promise<void> | undefined;

  constructor(parts: KeyRingParts) {
    this.#parts = parts;
  }

  get size(): number {
    return this.#known.size;
  }

  /** Whose key this is, when that is known without asking; otherwise undefined. Refuses a key that is no good. */
  recall(token: string): Actor | undefined {
    const known = this.#known.get(publicId(token));
    if (known === undefined || performance.now() > known.trustedUntil) {
      if (!isWellFormed(token)) throw mistyped();
      return undefined;
    }
    return this.#admit(known, token);
  }

  /** Whose key this is. */
  async find(token: string): Promise<Actor> {
    if (!this.#parts.database.available()) throw unavailable();
    const id = publicId(token);
    // Requests that come in together ask once.
    let asked = this.#asked.get(id);
    if (asked === undefined) {
      asked = this.#read([idOf(token)])
        .then(() => this.#known.get(id))
        .finally(() => this.#asked.delete(id));
      this.#asked.set(id, asked);
    }
    const known = await asked;
    if (known === undefined) throw unknown();
    return this.#admit(known, token);
  }

  /** A key that this instance just revoked, or whose record is gone, ends here at once. */
  forget(id: string): void {
    this.#known.delete(id.replaceAll('-', ''));
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#reading;
    await this.#writeUses().catch(() => {});
  }

  #admit(known: Known, token: string): Actor {
    if (known.token === undefined || !sameText(token, known.token)) {
      if (!matches(token, known.hash)) throw isWellFormed(token) ? unknown() : mistyped();
      known.token = Buffer.from(token, 'latin1');
    }
    if (known.revoked) throw refused('The API key was revoked.');
    const time = this.#parts.now().getTime();
    if (time >= known.expiresAt) throw refused('The API key has expired.');
    known.usedAt = time;
    return known.actor;
  }

  async #read(ids: string[]): Promise<void> {
    const trustedUntil = performance.now() + trustedFor;
    const rows = await orm(this.#parts.database.reads).select().from(apiKeys).where(inArray(apiKeys.id, ids));
    const found = new Set(rows.map(({ id }) => id));
    for (const id of ids) if (!found.has(id)) this.forget(id);
    for (const row of rows) {
      const key = publicId(`triport_${row.id.replaceAll('-', '')}`);
      const before = this.#known.get(key);
      if (!before && this.#known.size >= mostKeys)
        this.#known.delete(this.#known.keys().next().value as string);
      this.#known.set(key, {
        actor: { kind: 'key', id: row.id, name: row.name, scopes: withIncludedScopes(row.scopes) },
        hash: Buffer.from(row.secretHash, 'latin1'),
        token: before?.token,
        expiresAt: row.expiresAt === null ? Number.POSITIVE_INFINITY : Date.parse(row.expiresAt),
        revoked: row.revokedAt !== null,
        trustedUntil,
        usedAt: before?.usedAt ?? 0,
        writtenAt: Math.max(before?.writtenAt ?? 0, row.lastUsedAt === null ? 0 : Date.parse(row.lastUsedAt)),
      });
    }
    this.#timer ??= setInterval(() => {
      this.#reading ??= this.#keepUp().finally(() => {
        this.#reading = undefined;
      });
    }, readAgainEvery).unref();
  }

  /** Reads the keys in use again, all in one query; those that are not used any more are let go. */
  async #keepUp(): Promise<void> {
    const { database, log, now } = this.#parts;
    if (!database.available() || this.#known.size === 0) return;
    try {
      await this.#writeUses();
      const idle = now().getTime() - 2 * usesWrittenEvery;
      for (const [key, { usedAt }] of this.#known) if (usedAt < idle) this.#known.delete(key);
      const ids = [...this.#known.values()].map(({ actor }) => actor.id as string);
      for (let first = 0; first < ids.length; first += 1000) await this.#read(ids.slice(first, first + 1000));
    } catch (error) {
      // What could not be read again is not trusted for longer; requests will ask for themselves.
      log.warn({ err: error }, 'The API keys could not be read again.');
    }
  }

  /** The last uses, once a minute for each key and in one statement for all of them. */
  async #writeUses(): Promise<void> {
    const due = [...this.#known.values()].filter(key => key.usedAt - key.writtenAt >= usesWrittenEvery);
    if (due.length === 0) return;
    const time = Math.max(...due.map(({ usedAt }) => usedAt));
    const ids = due.map(({ actor }) => actor.id as string);
    const longAgo = new Date(time - usesWrittenEvery).toISOString();
    await orm(this.#parts.database.writes)
      .update(apiKeys)
      .set({ lastUsedAt: new Date(time).toISOString() })
      .where(and(inArray(apiKeys.id, ids), or(isNull(apiKeys.lastUsedAt), lt(apiKeys.lastUsedAt, longAgo))));
    for (const key of due) key.writtenAt = time;
  }
}
