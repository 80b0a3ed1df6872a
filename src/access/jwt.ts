import { createRemoteJWKSet, errors, type JWTPayload, jwtVerify } from 'jose';
import { type Actor, withIncludedScopes } from '../core/actor.ts';
import { AppError } from '../core/errors.ts';
import type { Log } from '../core/log.ts';

/** No `none`, and no HMAC: with one, the public key of the issuer would be enough to sign. */
const algorithms = [
  ...['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'],
  ...['ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'],
];
const clockTolerance = 30;
const keysReadEvery = 5 * 60_000;
/** A token that was checked is not checked again for this long, nor after its end. */
const checkedFor = 60_000;
const mostTokens = 10_000;

interface Issuer {
  url: string;
  issuer: string;
  audience: string;
}

/** Checks the tokens of one issuer. Its keys are read now and then; while it is away, the known ones go on. */
export class TokenVerifier {
  readonly #issuer: Issuer;
  readonly #log: Log;
  readonly #keys: ReturnType<typeof createRemoteJWKSet>;
  readonly #checked = new Map<string, { actor: Actor; until: number }>();
  readonly #timer: NodeJS.Timeout;

  constructor(issuer: Issuer, log: Log) {
    this.#issuer = issuer;
    this.#log = log;
    this.#keys = createRemoteJWKSet(new URL(issuer.url), {
      cacheMaxAge: Number.POSITIVE_INFINITY,
      cooldownDuration: 5000,
      timeoutDuration: 3000,
    });
    this.#timer = setInterval(() => void this.readKeys(), keysReadEvery).unref();
  }

  /** Reads the issuer's keys, so that one it has withdrawn ends. */
  async readKeys(): Promise<void> {
    try {
      await this.#keys.reload();
      this.#checked.clear();
    } catch (error) {
      this.#log.warn({ err: error }, 'The keys of the token issuer cannot be read; the known ones go on.');
    }
  }

  /** Whose token this is, when it was checked a moment ago. */
  recall(token: string): Actor | undefined {
    const checked = this.#checked.get(token);
    return checked && Date.now() < checked.until ? checked.actor : undefined;
  }

  async find(token: string): Promise<Actor> {
    const { issuer, audience } = this.#issuer;
    const checks = { issuer, audience, algorithms, clockTolerance, requiredClaims: ['exp', 'sub'] };
    const { payload } = await jwtVerify(token, this.#keys, checks).catch(error => {
      throw this.#explain(error);
    });
    const actor = actorOf(payload);
    if (this.#checked.size >= mostTokens) this.#checked.delete(this.#checked.keys().next().value as string);
    this.#checked.set(token, { actor, until: Math.min(Date.now() + checkedFor, (payload.exp ?? 0) * 1000) });
    return actor;
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #explain(error: unknown): AppError {
    const wrong = error instanceof errors.JOSEError && !(error instanceof errors.JWKSTimeout);
    // Without its keys nothing can be said about a token: that is our trouble and not the caller's.
    if (!wrong || error.code === 'ERR_JOSE_GENERIC' || error.code === 'ERR_JWKS_INVALID') {
      this.#log.warn({ err: error }, 'The keys of the token issuer cannot be read.');
      return new AppError('unavailable', 'The keys of the token issuer cannot be read. Try again shortly.');
    }
    const message = error instanceof errors.JWTExpired ? 'The token has expired.' : 'The token is not valid.';
    this.#log.debug({ err: error }, 'A token was refused');
    return new AppError('unauthenticated', message, { code: 'unauthenticated', reason: 'invalid_token' });
  }
}

/** A subject goes into the audit log and into the names of limits: whatever fits neither is refused. */
const saneSubject = /^[^\p{C}]{1,255}$/u;

function actorOf({ sub = '', scope, scp }: JWTPayload): Actor {
  if (!saneSubject.test(sub))
    throw new AppError('unauthenticated', 'The subject of the token is not usable.', {
      code: 'unauthenticated',
      reason: 'invalid_token',
    });
  const given = [scope, scp].flat().filter(value => typeof value === 'string');
  return { kind: 'token', id: sub, name: sub, scopes: withIncludedScopes(given.join(' ').split(' ')) };
}
