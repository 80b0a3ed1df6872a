import type { Settings } from '../../schemas/settings.ts';
import type { Actor } from '../core/actor.ts';
import { invalidToken } from '../core/errors.ts';
import { looksLikeToken } from './apiKeyToken.ts';
import { TokenVerifier } from './jwt.ts';
import { KeyRing, type KeyRingParts } from './keyRing.ts';

/** Finds the caller behind an `Authorization` header: an API key of ours, or a token of the issuer. */
export class Credentials {
  readonly keys: KeyRing;
  readonly #tokens: TokenVerifier | undefined;

  constructor(keys: KeyRing, tokens: TokenVerifier | undefined) {
    this.keys = keys;
    this.#tokens = tokens;
  }

  /** The caller, from memory alone; undefined when `find` must look. Throws when the credential is invalid. */
  recall(authorization: string): Actor | undefined {
    const credential = credentialIn(authorization);
    return this.#verifierOf(credential).recall(credential);
  }

  async find(authorization: string): Promise<Actor> {
    const credential = credentialIn(authorization);
    return this.#verifierOf(credential).find(credential);
  }

  async close(): Promise<void> {
    this.#tokens?.close();
    await this.keys.close();
  }

  #verifierOf(credential: string): KeyRing | TokenVerifier {
    if (looksLikeToken(credential)) return this.keys;
    if (this.#tokens === undefined) throw invalidToken('The credential is not an API key of this service.');
    return this.#tokens;
  }
}

/** Undefined where everybody may do everything. */
export function openCredentials(settings: Settings, parts: KeyRingParts): Credentials | undefined {
  if (settings.AUTH_MODE !== 'required') return undefined;
  const { AUTH_JWKS_URL: url, AUTH_ISSUER: issuer = '', AUTH_AUDIENCE: audience = '' } = settings;
  const tokens = url === undefined ? undefined : new TokenVerifier({ url, issuer, audience }, parts.log);
  void tokens?.readKeys();
  return new Credentials(new KeyRing(parts), tokens);
}

function credentialIn(authorization: string): string {
  // Scheme names are case-insensitive (RFC 9110).
  if (authorization.slice(0, 7).toLowerCase() !== 'bearer ')
    throw invalidToken('Send the credential as `Authorization: Bearer <key>`.');
  return authorization.slice(7).trim();
}
