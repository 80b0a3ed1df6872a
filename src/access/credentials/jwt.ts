import { createRemoteJWKSet, customFetch, errors, type JWTPayload, jwtVerify } from 'jose';
import type { Settings } from '#schemas/settings.ts';
import { type Actor, withIncludedScopes } from '#src/core/actor.ts';
import { AppError, invalidToken, OperatorError, unavailable } from '#src/core/errors.ts';
import { setBounded } from '#src/core/kept.ts';
import { afterAwake } from '#src/core/standstill.ts';
import type { Database } from '#src/database/database.ts';
import { operatorReason } from '#src/database/databaseErrors.ts';
import { repeat } from '#src/database/repeat.ts';
import type { Log } from '#src/telemetry/log.ts';
import { hashToken } from './apiKeyToken.ts';
import { readPerson } from './persons.ts';
import { isTrusted } from './trust.ts';

/** Milliseconds for which a verified token is trusted, unless it expires sooner. */
const trustedFor = 60_000;
/** Milliseconds that the issuer has to send its keys. */
const answerTimeout = 3000;
const keyRefreshInterval = 5 * 60_000;
/** Milliseconds until the issuer is asked again after it lacked a key or failed. */
const askAgainAfter = 5000;
const maxTokens = 10_000;

type Issuer = Pick<Settings, 'AUTH_JWKS_URL' | 'AUTH_ISSUER' | 'AUTH_AUDIENCE'>;

/** Verifies the tokens of one issuer. While the issuer is unreachable, its last known keys stay in use. */
export function openTokenVerifier(
  { AUTH_JWKS_URL = '', AUTH_ISSUER = '', AUTH_AUDIENCE = '' }: Issuer,
  { log, database }: { log: Log; database: Database },
) {
  let askedAt = Number.NEGATIVE_INFINITY;
  const keys = createRemoteJWKSet(new URL(AUTH_JWKS_URL), {
    cacheMaxAge: Number.POSITIVE_INFINITY,
    cooldownDuration: askAgainAfter,
    [customFetch]: (url, options) => {
      // The key set itself pauses after a success only; this pauses after a failure, too.
      if (performance.now() - askedAt < askAgainAfter && !keys.coolingDown)
        throw new OperatorError('The issuer was away a moment ago.');
      askedAt = performance.now();
      // Replaces the signal of the key set, which would also count the time in which a starting process stands still.
      const silence = new AbortController();
      afterAwake(answerTimeout, () =>
        silence.abort(new OperatorError(`no answer within ${answerTimeout / 1000} s`)),
      );
      return fetch(url, { ...options, signal: silence.signal });
    },
  });
  const checks = {
    // `algorithms` is not needed: a set of public keys verifies neither `none` nor HMAC.
    issuer: AUTH_ISSUER,
    audience: AUTH_AUDIENCE,
    requiredClaims: ['exp', 'sub'],
    /** Seconds. */
    clockTolerance: 30,
  };
  /** Callers by the hash of their token, as it may be long. All times are on the monotonic clock. */
  const verified = new Map<string, { actor: Actor; until: number; readAt: number }>();
  let keysReadAt = 0;
  const reading = repeat({
    work: readKeys,
    every: keyRefreshInterval,
    log,
    level: 'warn',
    away: 'Cannot read the keys of the token issuer; the known ones stay in use.',
    back: 'The keys of the token issuer are read again.',
  });

  /** Reads the issuer's keys again, so that withdrawn ones stop working. */
  async function readKeys(): Promise<void> {
    await keys.reload().catch(error => {
      // A starting process may be too busy to read the answer in time, so the next call may ask at once.
      askedAt = Number.NEGATIVE_INFINITY;
      throw explain(error);
    });
    keysReadAt = performance.now();
    for (const [id, { until }] of verified) if (until < keysReadAt) verified.delete(id);
  }

  /** The caller, if the token was verified before; after a while the token is verified again. */
  function recall(token: string): Actor | Promise<Actor> | undefined {
    const known = verified.get(hashToken(token));
    if (!known) return undefined;
    const { actor, until, readAt } = known;
    // The person behind the token may have changed.
    const isKnown = !actor.person || isTrusted(readAt);
    if (isKnown && readAt > keysReadAt && performance.now() < until) return actor;
    // A known token is no guess, so the limit of lookups does not apply.
    return find(token).catch(error => {
      if (error.code === 'unauthenticated') verified.delete(hashToken(token));
      throw error;
    });
  }

  async function find(token: string): Promise<Actor> {
    // The time is read before the verification, because the key may be withdrawn during it.
    const readAt = performance.now();
    const { payload } = await jwtVerify(token, keys, checks).catch(error => {
      throw explain(error);
    });
    const expiresIn = (payload.exp ?? 0) * 1000 - Date.now();
    const caller = actorFromClaims(payload);
    const until = performance.now() + Math.min(trustedFor, expiresIn);
    const actor = caller.scopes.includes('own') ? await withPerson(caller) : caller;
    // A caller without a user is not kept, so that they can register and go on at once.
    if (actor.person !== null) setBounded(verified, hashToken(token), { actor, until, readAt }, maxTokens);
    return actor;
  }

  async function withPerson(caller: Actor): Promise<Actor> {
    if (!database.available()) throw unavailable();
    const { issuer = '', id } = caller;
    return { ...caller, person: await readPerson(database.reads, { issuer, subject: id ?? '' }) };
  }

  function explain(error: unknown): AppError {
    const isVerdict = error instanceof errors.JOSEError;
    // The token may be valid, but nobody knows while the issuer's keys are missing: 503, not 401.
    if (!isVerdict || error.code === 'ERR_JOSE_GENERIC' || error.code === 'ERR_JWKS_INVALID') {
      reading.failed(new OperatorError(operatorReason(error) ?? String((error as Error).cause ?? error)));
      return new AppError('unavailable', 'The keys of the token issuer cannot be read. Try again shortly.');
    }
    log.debug({ err: error }, 'A token was refused.');
    return invalidToken(
      error instanceof errors.JWTExpired ? 'The token has expired.' : 'The token is not valid.',
    );
  }

  // Closing does not wait for an issuer that is silent.
  return { readKeys, recall, find, close: () => void reading.close() };
}

/** Subjects must fit into the audit log. */
const usableSubject = /^[^\p{C}]{1,255}$/u;

function actorFromClaims({ iss: issuer, sub, scope, scp, exp = 0 }: JWTPayload): Actor {
  // A number would pass the regular expression.
  if (typeof sub !== 'string' || !usableSubject.test(sub))
    throw invalidToken('The subject of the token cannot be used.');
  const granted = [scope, scp].flat().filter(value => typeof value === 'string');
  return {
    kind: 'token',
    id: sub,
    issuer,
    name: sub,
    expiresAt: exp * 1000,
    scopes: withIncludedScopes(granted.join(' ').split(' ')),
  };
}
