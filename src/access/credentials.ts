import type { Settings } from '../../schemas/settings.ts';
import type { Actor } from '../core/actor.ts';
import { invalidToken } from '../core/errors.ts';
import { looksLikeToken } from './apiKeyToken.ts';
import { TokenVerifier } from './jwt.ts';
import { KeyRing, type KeyRingParts } from './keyRing.ts';

/** Finds the caller behind an `Authorization` header: an API key of ours, or a token of the issuer. */
export class Credentials {
  readonly keys: KeyRing;
  readonly #tokens?: TokenVerifier;

  constructor(settings: Settings, parts: KeyRingParts) {
    const { AUTH_JWKS_URL: url, AUTH_ISSUER: issuer = '', AUTH_AUDIENCE: audience = '' } = settings;
    this.keys = new KeyRing(parts);
    if (url !== undefined) this.#tokens = new TokenVerifier({ url, issuer, audience }, parts.log);
    void this.#tokens?.readKeys();
  }

  /** The caller, if cached; undefined when `find` must look it up. Throws when the credential is invalid. */
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

/** Undefined in an open service. */
export const openCredentials = (settings: Settings, parts: KeyRingParts): Credentials | undefined =>
  settings.AUTH_MODE === 'required' ? new Credentials(settings, parts) : undefined;

function credentialIn(authorization: string): string {
  // Scheme names are case-insensitive (RFC 9110).
  if (authorization.slice(0, 7).toLowerCase() !== 'bearer ')
    throw invalidToken('Send the credential as `Authorization: Bearer <key>`.');
  return authorization.slice(7).trim();
}
