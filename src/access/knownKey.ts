import type { apiKeys } from '../../drizzle/tables/apiKeys.ts';
import { type Actor, withIncludedScopes } from '../core/actor.ts';
import { invalidToken } from '../core/errors.ts';
import { isWellFormed, matches, sameText } from './apiKeyToken.ts';

export const unknownKey = () => invalidToken('The API key is unknown.');
export const mistypedKey = () => invalidToken('The API key is mistyped: its checksum is wrong.');

/** An API key as last read from the database, with what this process has seen of it since. */
export class KnownKey {
  readonly id: string;
  /** On the monotonic clock. After this the key must be read again. */
  readonly trustedUntil: number;
  /** When the key was last used, and the last use that the database has. */
  usedAt: number;
  writtenAt: number;
  readonly #actor: Actor;
  readonly #hash: Buffer;
  readonly #revoked: boolean;
  readonly #expiresAt: number;
  /** The token, once its hash has matched: comparing it costs a tenth of hashing again. */
  #token: Buffer | undefined;

  constructor(row: typeof apiKeys.$inferSelect, trustedUntil: number, previous: KnownKey | undefined) {
    this.id = row.id;
    this.trustedUntil = trustedUntil;
    this.usedAt = previous?.usedAt ?? 0;
    this.writtenAt = Math.max(previous?.writtenAt ?? 0, timeOr(0, row.lastUsedAt));
    this.#actor = { kind: 'key', id: row.id, name: row.name, scopes: withIncludedScopes(row.scopes) };
    this.#hash = Buffer.from(row.secretHash, 'latin1');
    this.#revoked = row.revokedAt !== null;
    this.#expiresAt = timeOr(Number.POSITIVE_INFINITY, row.expiresAt);
    if (previous) this.#token = previous.#token;
  }

  /** The caller behind this token, which claims to be this key. */
  admit(token: string, now: Date): Actor {
    if (this.#token === undefined || !sameText(token, this.#token)) {
      if (!matches(token, this.#hash)) throw isWellFormed(token) ? unknownKey() : mistypedKey();
      this.#token = Buffer.from(token, 'latin1');
    }
    if (this.#revoked) throw invalidToken('The API key was revoked.');
    const time = now.getTime();
    if (time >= this.#expiresAt) throw invalidToken('The API key has expired.');
    this.usedAt = time;
    return this.#actor;
  }
}

const timeOr = (otherwise: number, text: string | null) => (text === null ? otherwise : Date.parse(text));
