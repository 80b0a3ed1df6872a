import { type StringOptions, Type } from '@sinclair/typebox';

type Range = [minimum: number, maximum: number];
export const whole = ([minimum, maximum]: Range, value: number, description: string) =>
  Type.Integer({ minimum, maximum, default: value, description });
export const optionalWhole = ([minimum, maximum]: Range, description: string) =>
  Type.Optional(Type.Integer({ minimum, maximum, description }));
export const text = (value: string, description: string, options: StringOptions = {}) =>
  Type.String({ ...options, default: value, description });
export const optionalText = (description: string, options: StringOptions = {}) =>
  Type.Optional(Type.String({ ...options, description }));
export const secret = (description: string, options: StringOptions = {}) =>
  optionalText(description, { secret: true, ...options });
export const choice = <const T extends string>(values: T[], value: T | undefined, description: string) =>
  Type.Unsafe<T>({ type: 'string', enum: values, ...(value && { default: value }), description });

const begins = (pattern: string, words: string) => ({ pattern, patternMessage: `must start with ${words}` });
const postgres = begins('^postgres(ql)?://', 'postgres:// or postgresql://');
const http = begins('^https?://', 'http:// or https://');
const redis = begins('^rediss?://', 'redis:// or rediss://');

/** The settings of the service, in reading order. */
export const serviceSettings = {
  NODE_ENV: Type.Optional(
    choice(
      ['development', 'production', 'test'],
      undefined,
      '`production` refuses to start until `AUTH_MODE` is set. The others let you make an event fail: see docs/webhooks.md.',
    ),
  ),
  PORT: whole([0, 65535], 3000, 'The port to listen on. 0 picks a free one.'),
  HOST: text('127.0.0.1', 'The address to listen on.', { minLength: 1 }),
  DATABASE_URL: secret(
    'The URL of a PostgreSQL database. Without it, an embedded PostgreSQL keeps its data in `DATA_DIR`.',
    postgres,
  ),
  DATABASE_POOL_SIZE: whole(
    [1, 100],
    4,
    'Connections to PostgreSQL for writes, half as many for reads, and one for reads that take long. Fewer cost less.',
  ),
  DATABASE_POOLER: choice(
    ['none', 'transaction'],
    'none',
    '`transaction` if the URL leads to PgBouncer in transaction mode, which must then set time limits: see docs/running-many.md.',
  ),
  DATA_DIR: text('./data', 'The folder of the embedded database.', { minLength: 1 }),
  LOG_LEVEL: choice(
    ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'],
    'info',
    'The least severe level that is logged.',
  ),
  AUTH_MODE: Type.Optional(
    choice(
      ['open', 'required'],
      undefined,
      '`open` lets anyone call. `required` demands an API key or a token.',
    ),
  ),
  AUTH_JWKS_URL: optionalText(
    'The public keys of the token issuer. When set, JWTs are accepted as well as API keys.',
    http,
  ),
  AUTH_ISSUER: optionalText('The `iss` a JWT must have. Required with `AUTH_JWKS_URL`.', { minLength: 1 }),
  AUTH_AUDIENCE: optionalText('The `aud` a JWT must have. Required with `AUTH_JWKS_URL`.', { minLength: 1 }),
  AUDIT_RETENTION_DAYS: whole([0, 36500], 365, 'Days the audit log is kept. 0 keeps it forever.'),
  CORS_ORIGINS: text('', 'Other origins whose pages may call the API, separated by commas, or `*` for all.'),
  RATE_LIMIT_MAX: optionalWhole(
    [1, 1000000000],
    'Requests per window for every client, instead of 600 for an API key and 300 for an address.',
  ),
  RATE_LIMIT_WINDOW: whole([1, 86400], 60, 'The length of the rate limit window, in seconds.'),
  TRUST_PROXY: text(
    '',
    'The proxies whose `X-Forwarded-For` is trusted: a number of hops, or addresses separated by commas. A number is only safe where only the proxies can reach the port.',
  ),
  REDIS_URL: secret(
    'A Redis or Valkey server that holds the rate limits of all instances, and announces changes. Without it, each instance counts for itself.',
    redis,
  ),
  WEBHOOK_SECRETS: secret(
    'The signing secrets of webhook providers: a JSON object with a list of secrets for each provider, the current one first. A secret has 8 or more visible ASCII characters. An object in place of a list describes the provider: see docs/webhooks.md. When unset, the embedded database generates a secret for `stripe`.',
  ),
  WEBHOOK_RETRIES: whole([0, 10], 10, 'How often a failed event, or effect, is retried before it is dead.'),
  WEBHOOK_RETENTION_DAYS: whole(
    [1, 3650],
    30,
    'Days after which processed, ignored and dismissed events are deleted. Failed and dead events are kept.',
  ),
  WORKER: choice(
    ['inside', 'apart'],
    'inside',
    'Where events are processed, and effects run: `inside` this process, or `apart`, in `npm run worker`.',
  ),
  GRAPHQL_INTROSPECTION: choice(
    ['on', 'off'],
    'on',
    '`off` hides the GraphQL schema and turns off the browser tool.',
  ),
  GRAPHQL_TRUSTED_DOCUMENTS: optionalText(
    'A JSON file of GraphQL documents by their SHA-256 in hex. When set, no other document runs.',
    { minLength: 1 },
  ),
  GRAPHQL_MAX_DEPTH: whole([1, 100], 8, 'The depth of a GraphQL query, not counting introspection.'),
  GRAPHQL_MAX_COST: whole(
    [2500, 250000],
    5000,
    'Records and lookups a GraphQL query may request. A list without a `limit` counts as 5, a connection as its `first` or `last`. A fifth of this number limits the tokens, the nodes (fields and fragments, counted each time they are spread), and the records of a list without a `limit`. Each 1,000 allows 6 aliases.',
  ),
  REQUEST_TIMEOUT: whole([2, 60], 8, 'Seconds a request may be worked on before it is answered with 503.'),
  MAX_IN_FLIGHT: whole(
    [1, 1000000],
    1000,
    'Requests worked on at once. More are answered with 503. Each caller may have a quarter of this number, and a tenth of it as open streams of changes.',
  ),
  DRAIN_SECONDS: whole(
    [0, 600],
    0,
    'Seconds after SIGTERM during which `/health/ready` is 503 while requests are still served, so that a load balancer stops sending them.',
  ),
  METRICS_PORT: optionalWhole(
    [0, 65535],
    'A separate port for `/metrics` without authentication. `npm run worker` uses it, too, and serves `/health/live` and `/health/ready` there. Without it, `/metrics` is on `PORT` and requires the scope `admin`.',
  ),
  OTEL_EXPORTER_OTLP_ENDPOINT: optionalText(
    'Where traces are sent, by OTLP over HTTP as JSON, such as `http://localhost:4318`.',
    http,
  ),
};
