import type { Settings } from '#schemas/settings.ts';
import { readProviders } from './providers.ts';
import { trustedProxies } from './trustedProxies.ts';
import { isOrigin, isSecureUrl, isUsableUrl, splitList } from './urls.ts';

/**
 * Everything that is wrong with settings which are valid one by one. No message repeats a URL: it may hold a
 * password.
 */
export const contradictions = (settings: Settings): string[] => [
  ...readProviders(settings.WEBHOOK_SECRETS).problems,
  ...httpProblems(settings),
  ...accessProblems(settings),
  ...databaseProblems(settings),
];

function* httpProblems({ TRUST_PROXY, METRICS_PORT, PORT, CORS_ORIGINS }: Settings): Generator<string> {
  const origins = splitList(CORS_ORIGINS);
  for (const origin of origins)
    if (origin !== '*' && !isOrigin(origin))
      yield `CORS_ORIGINS has ${JSON.stringify(origin)}, which is no origin such as https://example.com`;
  if (origins.includes('*') && origins.length > 1) yield 'CORS_ORIGINS must be a list or `*`, not both';
  if (trustedProxies(TRUST_PROXY) === undefined)
    yield 'TRUST_PROXY must be a number of hops, or addresses (also with a /prefix) separated by commas';
  if (METRICS_PORT !== undefined && METRICS_PORT === PORT && PORT !== 0)
    yield 'METRICS_PORT must differ from PORT: leave it out to have /metrics there';
}

function* accessProblems(settings: Settings): Generator<string> {
  const { NODE_ENV, AUTH_MODE, AUTH_JWKS_URL: url, AUTH_ISSUER, AUTH_AUDIENCE } = settings;
  if (NODE_ENV === 'production' && !AUTH_MODE)
    yield 'AUTH_MODE must be set in production: `open` lets anyone read and write';
  if (url === undefined) {
    if (AUTH_ISSUER) yield 'AUTH_ISSUER has no effect without AUTH_JWKS_URL';
    if (AUTH_AUDIENCE) yield 'AUTH_AUDIENCE has no effect without AUTH_JWKS_URL';
    return;
  }
  if (!AUTH_ISSUER)
    yield 'AUTH_ISSUER must be set with AUTH_JWKS_URL: without it, tokens of other issuers are accepted';
  if (!AUTH_AUDIENCE)
    yield 'AUTH_AUDIENCE must be set with AUTH_JWKS_URL: without it, tokens for other services are accepted';
  if (AUTH_MODE !== 'required')
    yield 'AUTH_JWKS_URL has no effect unless AUTH_MODE is `required`: anyone may do anything';
  if (!URL.canParse(url)) yield 'AUTH_JWKS_URL must be a URL';
  else if (new URL(url).username || new URL(url).password)
    yield 'AUTH_JWKS_URL must have no user and no password: keys are public, and they cannot be sent';
  else if (!isSecureUrl(url))
    yield 'AUTH_JWKS_URL must be https: anyone who can alter the keys in transit can sign tokens';
}

function* databaseProblems(settings: Settings): Generator<string> {
  const { DATABASE_URL, REDIS_URL } = settings;
  if (settings.WORKER === 'apart' && !DATABASE_URL)
    yield 'WORKER=apart requires DATABASE_URL: an embedded database belongs to one process';
  // The schema has refused a URL without a scheme already.
  for (const [name, url] of Object.entries({ DATABASE_URL, REDIS_URL }))
    if (url?.includes('://') && !isUsableUrl(url))
      yield `${name} must be a URL of one host, with a port up to 65535 and with percent-encoding in the user and password`;
}
