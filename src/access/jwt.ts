import { createRemoteJWKSet, errors, type JWTPayload, type JWTVerifyOptions, jwtVerify } from 'jose';
import type { Settings } from '../../schemas/settings.ts';
import { type Actor, withIncludedScopes } from '../core/actor.ts';
import { AppError, invalidToken } from '../core/errors.ts';
import { setBounded } from '../core/kept.ts';
import type { Log } from '../core/log.ts';
import { watchService } from '../core/watch.ts';

/** No `none`, and no HMAC, which would let anyone sign with the issuer's public key. */
const signatureAlgorithms = [
  ...['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'],
  ...['ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'],
];

const checks = {
  algorithms: signatureAlgorithms,
  requiredClaims: ['exp', 'sub'],
  /** Seconds. */
  clockTolerance: 30,
};
/** Milliseconds. A verified token is trusted for this long, or until it expires. */
const trustedFor = 60_000;
const keyRefreshInterval = 5 * 60_000;
const maxTokens = 10_000;

type Issuer = Pick<Settings, 'AUTH_JWKS_URL' | 'AUTH_ISSUER' | 'AUTH_AUDIENCE'>;

/** Verifies the tokens of one issuer. While the issuer is unreachable, its last known keys stay in use. */
export class TokenVerifier {
  readonly #checks: JWTVerifyOptions;
  readonly #log: Log;
  readonly #keys: ReturnType<typeof createRemoteJWKSet>;
  readonly #reading: ReturnType<typeof watchService>;
  #verified = new Map<string, { actor: Actor; until: number }>();

  constructor({ AUTH_JWKS_URL = '', AUTH_ISSUER = '', AUTH_AUDIENCE = '' }: Issuer, log: Log) {
    this.#log = log;
    this.#checks = { ...checks, issuer: AUTH_ISSUER, audience: AUTH_AUDIENCE };
    this.#keys = createRemoteJWKSet(new URL(AUTH_JWKS_URL), {
      cacheMaxAge: Number.POSITIVE_INFINITY,
      cooldownDuration: 5000,
      timeoutDuration: 3000,
    });
    this.#reading = watchService({
      check: () => this.readKeys(),
      every: keyRefreshInterval,
      log,
      level: 'warn',
      away: 'Cannot read the keys of the token issuer; the known ones stay in use.',
      back: 'The keys of the token issuer are read again.',
    });
  }

  /** Reads the issuer's keys again, so that withdrawn ones stop working. */
  async readKeys(): Promise<void> {
    await this.#keys.reload();
    this.#verified = new Map();
  }

  /** The caller, when the token was verified a moment ago. */
  recall(token: string): Actor | undefined {
    const verified = this.#verified.get(token);
    return verified && Date.now() < verified.until ? verified.actor : undefined;
  }

  async find(token: string): Promise<Actor> {
    // The map of these keys: a token of a withdrawn one must not be in that of the next.
    const verified = this.#verified;
    const { payload } = await jwtVerify(token, this.#keys, this.#checks).catch(error => {
      throw this.#explain(error);
    });
    const actor = actorOf(payload);
    const until = Math.min(Date.now() + trustedFor, (payload.exp ?? 0) * 1000);
    setBounded(verified, token, { actor, until }, maxTokens);
    return actor;
  }

  /** Does not wait for an issuer that is silent. */
  close(): void {
    void this.#reading.close();
  }

  #explain(error: unknown): AppError {
    const isVerdict = error instanceof errors.JOSEError && !(error instanceof errors.JWKSTimeout);
    // Without the issuer's keys nobody knows whether the token is valid: 503, not 401.
    if (!isVerdict || error.code === 'ERR_JOSE_GENERIC' || error.code === 'ERR_JWKS_INVALID') {
      this.#log.warn({ err: error }, 'Cannot read the keys of the token issuer.');
      return new AppError('unavailable', 'The keys of the token issuer cannot be read. Try again shortly.');
    }
    this.#log.debug({ err: error }, 'A token was refused.');
    return invalidToken(
      error instanceof errors.JWTExpired ? 'The token has expired.' : 'The token is not valid.',
    );
  }
}

/** Subjects must fit into the audit log. */
const usableSubject = /^[^\p{C}]{1,255}$/u;

function actorOf({ iss: issuer, sub = '', scope, scp }: JWTPayload): Actor {
  if (!usableSubject.test(sub)) throw invalidToken('The subject of the token cannot be used.');
  const granted = [scope, scp].flat().filter(value => typeof value === 'string');
  return {
    kind: 'token',
    id: sub,
    issuer,
    name: sub,
    scopes: withIncludedScopes(granted.join(' ').split(' ')),
  };
}
