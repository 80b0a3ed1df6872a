import type { Settings } from '../../schemas/settings.ts';
import type { Actor } from '../core/actor.ts';
import { invalidToken } from '../core/errors.ts';
import type { Log } from '../core/log.ts';
import type { Database } from '../database/database.ts';
import { looksLikeToken } from './apiKeyToken.ts';
import type { TokenVerifier } from './jwt.ts';
import { type KeyRing, openKeyRing } from './keyRing.ts';

export interface CredentialDependencies {
  database: Database;
  log: Log;
  now: () => Date;
}
export type Credentials = NonNullable<Awaited<ReturnType<typeof openCredentials>>>;

/**
 * Finds the caller behind an `Authorization` header: an API key of ours, or a token of the issuer. Undefined in an
 * open service.
 */
export async function openCredentials(settings: Settings, dependencies: CredentialDependencies) {
  if (settings.AUTH_MODE !== 'required') return undefined;
  const keys = openKeyRing(dependencies);
  const tokens =
    settings.AUTH_JWKS_URL === undefined
      ? undefined
      : (await import('./jwt.ts')).openTokenVerifier(settings, dependencies);

  function verifierOf(credential: string): KeyRing | TokenVerifier {
    if (looksLikeToken(credential)) return keys;
    if (tokens === undefined) throw invalidToken('The credential is not an API key of this service.');
    return tokens;
  }
  return {
    keys,
    /** The caller, if cached; undefined when `find` must look it up. Throws when the credential is invalid. */
    recall(authorization: string): Actor | Promise<Actor> | undefined {
      const credential = credentialIn(authorization);
      return verifierOf(credential).recall(credential);
    },
    async find(authorization: string): Promise<Actor> {
      const credential = credentialIn(authorization);
      return verifierOf(credential).find(credential);
    },
    close: () => tokens?.close(),
  };
}

function credentialIn(authorization: string): string {
  // Scheme names are case-insensitive (RFC 9110).
  if (authorization.slice(0, 7).toLowerCase() !== 'bearer ')
    throw invalidToken('Send the credential as `Authorization: Bearer <key>`.');
  return authorization.slice(7).trim();
}
