import type { Settings } from '#schemas/settings.ts';
import { invalidToken } from '#src/core/errors.ts';
import type { Database } from '#src/database/database.ts';
import type { Log } from '#src/telemetry/log.ts';
import { looksLikeToken } from './apiKeyToken.ts';
import { openKeyRing } from './keyRing.ts';

interface Dependencies {
  database: Database;
  log: Log;
  now: () => Date;
}
/** Allows no spaces: decoders skip them, so one token would be verified and kept in many spellings. */
const tokenSpelling = /^[\w-]+\.[\w-]+\.[\w-]+$/;

export type Credentials = NonNullable<Awaited<ReturnType<typeof openCredentials>>>;

/**
 * Finds the caller behind an `Authorization` header: an API key of ours, or a token of the issuer. Undefined in an
 * open service.
 */
export async function openCredentials(settings: Settings, dependencies: Dependencies) {
  if (settings.AUTH_MODE !== 'required') return undefined;
  const keys = openKeyRing(dependencies);
  const tokens =
    settings.AUTH_JWKS_URL === undefined
      ? undefined
      : (await import('./jwt.ts')).openTokenVerifier(settings, dependencies);

  return {
    keys,
    /** The credential, and the verifier that can recall or find its caller. */
    read(authorization: string) {
      const credential = credentialIn(authorization);
      if (looksLikeToken(credential)) return { credential, verifier: keys };
      if (tokens === undefined) throw invalidToken('The credential is not an API key of this service.');
      if (credential.length > 8192 || !tokenSpelling.test(credential))
        throw invalidToken('The credential is neither an API key nor a token.');
      return { credential, verifier: tokens };
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
