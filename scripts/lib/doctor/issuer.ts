import { importJWK, type JWK } from 'jose';
import { signatureAlgorithms } from '../../../src/access/jwt.ts';
import {
  compareClocks,
  countOf,
  type Deployment,
  type Finding,
  type Findings,
  ok,
  problem,
  unreachable,
  warning,
} from './finding.ts';

/** The issuer of tokens: its keys, its name and its clock. */
export async function* checkIssuer({ settings }: Deployment): Findings {
  const { AUTH_JWKS_URL: url, AUTH_ISSUER = '' } = settings;
  if (url === undefined) return;
  let hasDate: boolean;
  try {
    const answer = await get(url);
    yield await checkKeys(answer);
    hasDate = !Number.isNaN(Date.parse(answer.headers.get('date') ?? ''));
  } catch (error) {
    yield unreachable('AUTH_JWKS_URL', error);
    return;
  }
  yield* checkName(AUTH_ISSUER, url);
  // The header has whole seconds.
  if (hasDate)
    yield await compareClocks(
      'AUTH_JWKS_URL',
      async () => Date.parse((await get(url)).headers.get('date') ?? '') + 500,
    );
}

/** The members of a JSON object; none when the answer is none. Throws when the answer does not arrive. */
async function membersOf(answer: Response): Promise<Record<string, unknown>> {
  const text = await answer.text();
  try {
    return JSON.parse(text) ?? {};
  } catch {
    return {};
  }
}

const get = (url: string) => fetch(url, { signal: AbortSignal.timeout(3000) });

async function checkKeys(answer: Response): Promise<Finding> {
  if (!answer.ok)
    return problem(`AUTH_JWKS_URL answers with ${answer.status}: no token can be verified. Correct the URL.`);
  const set = await membersOf(answer);
  if (!Array.isArray(set.keys))
    return problem('AUTH_JWKS_URL is no key set: it must be JSON with `keys`. Correct the URL.');
  const usable = await Promise.all(set.keys.map(isUsable));
  const count = usable.filter(Boolean).length;
  if (count === 0)
    return problem(
      `AUTH_JWKS_URL has no key that can verify a token: one for ${signatureAlgorithms.join(', ')} is needed, RSA keys of 2048 bits or more.`,
    );
  if (count < usable.length)
    return warning(
      `AUTH_JWKS_URL has ${countOf(usable.length - count, 'key')} that cannot be used here, and ${count} that can.`,
    );
  return ok(`AUTH_JWKS_URL has ${countOf(count, 'usable key')}.`);
}

const algorithmsOf: Record<string, string> = {
  RSA: 'RS256',
  'EC P-256': 'ES256',
  'EC P-384': 'ES384',
  'EC P-521': 'ES512',
  'OKP Ed25519': 'EdDSA',
};

async function isUsable(key: JWK): Promise<boolean> {
  const algorithm = key?.alg ?? algorithmsOf[[key?.kty, key?.crv].filter(Boolean).join(' ')];
  if (algorithm === undefined || !signatureAlgorithms.includes(algorithm) || key.use === 'enc') return false;
  // A shorter key is refused when a token is verified.
  if (key.kty === 'RSA' && Buffer.from(key.n ?? '', 'base64url').length < 256) return false;
  return importJWK(key, algorithm).then(
    () => true,
    () => false,
  );
}

/** Most issuers say in a document of their own what `iss` their tokens have. */
async function* checkName(issuer: string, jwksUrl: string): Findings {
  const address = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`;
  const found = URL.canParse(address) ? await get(address).then(membersOf, () => ({})) : {};
  const { issuer: real, jwks_uri: keys } = found as Record<string, unknown>;
  if (typeof real !== 'string')
    return yield ok('AUTH_ISSUER has no OpenID configuration to compare it with.');
  if (real !== issuer)
    return yield problem(`AUTH_ISSUER must be exactly ${real}, or every token is refused.`);
  if (typeof keys === 'string' && keys !== jwksUrl)
    return yield warning(`AUTH_ISSUER publishes its keys at ${keys}. Set AUTH_JWKS_URL to that.`);
  yield ok('AUTH_ISSUER and AUTH_JWKS_URL are what the issuer says.');
}
