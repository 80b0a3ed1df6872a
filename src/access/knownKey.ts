import type { apiKeys } from '../../drizzle/tables/apiKeys.ts';
import { type Actor, withIncludedScopes } from '../core/actor.ts';
import { invalidToken } from '../core/errors.ts';
import { isWellFormed, matches } from './apiKeyToken.ts';

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

  constructor(row: typeof apiKeys.$inferSelect, trustedUntil: number, previous: KnownKey | undefined) {
    this.id = row.id;
    this.trustedUntil = trustedUntil;
    this.usedAt = previous?.usedAt ?? 0;
    this.writtenAt = Math.max(previous?.writtenAt ?? 0, timeOr(0, row.lastUsedAt));
    const { id, name, userId: person } = row;
    this.#actor = { kind: 'key', id, name, scopes: withIncludedScopes(row.scopes), person };
    this.#hash = Buffer.from(row.secretHash, 'latin1');
    this.#revoked = row.revokedAt !== null;
    this.#expiresAt = timeOr(Number.POSITIVE_INFINITY, row.expiresAt);
  }

  /** The caller behind this token, which claims to be this key. */
  admit(token: string, now: Date): Actor {
    if (!matches(token, this.#hash)) throw isWellFormed(token) ? unknownKey() : mistypedKey();
    if (this.#revoked) throw invalidToken('The API key was revoked.');
    const time = now.getTime();
    if (time >= this.#expiresAt) throw invalidToken('The API key has expired.');
    this.usedAt = time;
    return this.#actor;
  }
}

const timeOr = (otherwise: number, text: string | null) => (text === null ? otherwise : Date.parse(text));
