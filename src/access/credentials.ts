import type { Settings } from '../../schemas/settings.ts';
import type { Actor } from '../core/actor.ts';
import { looksLikeToken } from './apiKeyToken.ts';
import { TokenVerifier } from './jwt.ts';
import { KeyRing, type KeyRingParts, refused } from './keyRing.ts';

/** Tells who a credential stands for: an API key of ours, or a token of the issuer. */
export class Credentials {
  readonly keys: KeyRing;
  readonly #tokens: TokenVerifier | undefined;

  constructor(keys: KeyRing, tokens: TokenVerifier | undefined) {
    this.keys = keys;
    this.#tokens = tokens;
  }

  /** The caller, when he is known without asking anybody; undefined when `find` must ask. */
  recall(authorization: string): Actor | undefined {
    const credential = credentialIn(authorization);
    if (looksLikeToken(credential)) return this.keys.recall(credential);
    if (this.#tokens === undefined) throw refused('The credential is no API key of this service.');
    return this.#tokens.recall(credential);
  }

  async find(authorization: string): Promise<Actor> {
    const credential = credentialIn(authorization);
    if (looksLikeToken(credential)) return this.keys.find(credential);
    if (this.#tokens === undefined) throw refused('The credential is no API key of this service.');
    return this.#tokens.find(credential);
  }

  async close(): Promise<void> {
    this.#tokens?.close();
    await this.keys.close();
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
  // The name of a scheme has no case (RFC 9110).
  if (authorization.slice(0, 7).toLowerCase() !== 'bearer ')
    throw refused('Only `Authorization: Bearer <key>` is understood.');
  return authorization.slice(7).trim();
}
