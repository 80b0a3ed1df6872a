import type { Settings } from '../../schemas/settings.ts';
import { readProviders } from './providers.ts';
import { trustedProxies } from './trustedProxies.ts';
import { allowedOrigins, isOrigin, isPostgresUrl, isSecureUrl, isUsableUrl, replicaUrls } from './urls.ts';

type Rule = readonly [isBroken: (settings: Settings) => unknown, problem: string];

const isGivenWithout =
  (name: keyof Settings, other: keyof Settings) =>
  (settings: Settings): boolean =>
    Boolean(settings[name] && !settings[other]);

/** What the schema of a single setting cannot say. No message repeats a URL: it may hold a password. */
const rules: Rule[] = [
  [
    ({ NODE_ENV, AUTH_MODE }) => NODE_ENV === 'production' && !AUTH_MODE,
    'AUTH_MODE must be set in production: `open` lets anyone read and write',
  ],
  [
    ({ TRUST_PROXY }) => trustedProxies(TRUST_PROXY) === undefined,
    'TRUST_PROXY must be a number of hops, or addresses (also with a /prefix) separated by commas',
  ],
  [
    ({ METRICS_PORT, PORT }) => METRICS_PORT !== undefined && METRICS_PORT === PORT && PORT !== 0,
    'METRICS_PORT must differ from PORT: leave it out to have /metrics there',
  ],
  [
    isGivenWithout('AUTH_JWKS_URL', 'AUTH_ISSUER'),
    'AUTH_ISSUER must be set with AUTH_JWKS_URL: without it, tokens of other issuers are accepted',
  ],
  [
    isGivenWithout('AUTH_JWKS_URL', 'AUTH_AUDIENCE'),
    'AUTH_AUDIENCE must be set with AUTH_JWKS_URL: without it, tokens for other services are accepted',
  ],
  [isGivenWithout('AUTH_ISSUER', 'AUTH_JWKS_URL'), 'AUTH_ISSUER has no effect without AUTH_JWKS_URL'],
  [isGivenWithout('AUTH_AUDIENCE', 'AUTH_JWKS_URL'), 'AUTH_AUDIENCE has no effect without AUTH_JWKS_URL'],
  [
    ({ AUTH_JWKS_URL, AUTH_MODE }) => AUTH_JWKS_URL && AUTH_MODE !== 'required',
    'AUTH_JWKS_URL has no effect unless AUTH_MODE is `required`: anyone may do anything',
  ],
  [({ AUTH_JWKS_URL: url }) => url && !URL.canParse(url), 'AUTH_JWKS_URL must be a URL'],
  [
    ({ AUTH_JWKS_URL: url = '' }) => URL.canParse(url) && !isSecureUrl(url),
    'AUTH_JWKS_URL must be https: anyone who can alter the keys in transit can sign tokens',
  ],
  [
    ({ CORS_ORIGINS: text }) => allowedOrigins(text).includes('*') && allowedOrigins(text).length > 1,
    'CORS_ORIGINS must be a list or `*`, not both',
  ],
  [
    ({ WORKER, DATABASE_URL }) => WORKER === 'apart' && !DATABASE_URL,
    'WORKER=apart requires DATABASE_URL: an embedded database belongs to one process',
  ],
  [
    isGivenWithout('DATABASE_REPLICA_URLS', 'DATABASE_URL'),
    'DATABASE_REPLICA_URLS has no effect without DATABASE_URL',
  ],
  [
    isGivenWithout('QUEUE_DATABASE_URL', 'DATABASE_URL'),
    'QUEUE_DATABASE_URL has no effect without DATABASE_URL',
  ],
  [
    ({ DATABASE_POOLER, QUEUE_DATABASE_URL }) => DATABASE_POOLER === 'transaction' && !QUEUE_DATABASE_URL,
    'QUEUE_DATABASE_URL must be set with DATABASE_POOLER=transaction: LISTEN does not work through the pooler',
  ],
  [
    isGivenWithout('DATABASE_REPLICA_URLS', 'REDIS_URL'),
    'REDIS_URL must be set with DATABASE_REPLICA_URLS: an instance must see what a client wrote on another one',
  ],
  [
    settings => !replicaUrls(settings).every(isPostgresUrl),
    'DATABASE_REPLICA_URLS must be PostgreSQL URLs, separated by commas',
  ],
  ...(['DATABASE_URL', 'QUEUE_DATABASE_URL', 'REDIS_URL'] as const).map(
    (name): Rule => [
      // Without a scheme, the schema has refused it already.
      ({ [name]: url }) => url?.includes('://') && !isUsableUrl(url),
      `${name} must be a URL of one host, with a port up to 65535 and with percent-encoding in the user and password`,
    ],
  ),
];

/** Everything that is wrong with settings which are valid one by one. */
export const contradictions = (settings: Settings): string[] => [
  ...readProviders(settings.WEBHOOK_SECRETS).problems,
  ...allowedOrigins(settings.CORS_ORIGINS)
    .filter(origin => origin !== '*' && !isOrigin(origin))
    .map(
      origin => `CORS_ORIGINS has ${JSON.stringify(origin)}, which is no origin such as https://example.com`,
    ),
  ...rules.filter(([isBroken]) => isBroken(settings)).map(([, problem]) => problem),
];
