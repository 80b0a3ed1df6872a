import { type Static, Type } from '@sinclair/typebox';
import { strict } from './common.ts';

/**
 * Every environment variable, in reading order. `secret` ones may also be given as NAME_FILE, a path to read.
 * `.env.example` and the table in README.md are made from this file.
 */
const secret = { secret: true };
const whole = (minimum: number, maximum: number, value: number, description: string) =>
  Type.Integer({ minimum, maximum, default: value, description });

export const Settings = strict({
  NODE_ENV: Type.Unsafe<'development' | 'production' | 'test'>({
    type: 'string',
    enum: ['development', 'production', 'test'],
    default: 'development',
    description: '`production` refuses to start on convenient defaults: `AUTH_MODE` must be chosen by hand.',
  }),
  PORT: whole(0, 65535, 3000, 'The port to listen on; 0 takes a free one.'),
  HOST: Type.String({ minLength: 1, default: '127.0.0.1', description: 'The address to listen on.' }),
  DATABASE_URL: Type.Optional(
    Type.String({
      ...secret,
      pattern: '^postgres(ql)?://',
      description: 'A PostgreSQL URL. When absent, an embedded Postgres keeps its data in `DATA_DIR`.',
    }),
  ),
  DATABASE_POOL_SIZE: whole(
    1,
    100,
    4,
    'Connections to PostgreSQL for reads, and as many for writes; one more watches it, and three work on events. Few are enough: reads are pipelined.',
  ),
  STATEMENT_TIMEOUT: whole(
    1,
    600,
    10,
    'Seconds after which PostgreSQL gives up a statement of a request. Shorter than `HANDLER_TIMEOUT`: nobody waits any more.',
  ),
  DATABASE_POOL_WAIT: whole(
    1,
    600,
    2,
    'Seconds that a statement waits for a free connection to PostgreSQL before its request is answered with 503.',
  ),
  DATABASE_POOLER: Type.Unsafe<'none' | 'transaction'>({
    type: 'string',
    enum: ['none', 'transaction'],
    default: 'none',
    description:
      '`transaction`: `DATABASE_URL` leads to PgBouncer in transaction mode. Statements are then not prepared, and the pooler must set the time limits. Needs `QUEUE_DATABASE_URL`.',
  }),
  DATABASE_REPLICA_URLS: Type.Optional(
    Type.String({
      ...secret,
      pattern: '^postgres(ql)?://',
      description:
        'PostgreSQL URLs of streaming replicas, separated by commas, for reads. Needs `REDIS_URL`, where all instances see who has written.',
    }),
  ),
  REPLICA_MAX_LAG: whole(
    1,
    3600,
    5,
    'Seconds that a replica may be behind; beyond, nobody reads from it. For so long whoever has written reads from the primary.',
  ),
  QUEUE_DATABASE_URL: Type.Optional(
    Type.String({
      ...secret,
      pattern: '^postgres(ql)?://',
      description:
        'Another way to the database of `DATABASE_URL`, for the queue: past a pooler, because it needs LISTEN.',
    }),
  ),
  QUEUE_BACKEND: Type.Unsafe<'postgres' | 'citus'>({
    type: 'string',
    enum: ['postgres', 'citus'],
    default: 'postgres',
    description:
      'What the server of `DATABASE_URL` is, so that the queue does without what others lack. docs/scaling.md says what else differs.',
  }),
  DATA_DIR: Type.String({
    minLength: 1,
    default: './data',
    description: 'The folder of the embedded database.',
  }),
  LOG_LEVEL: Type.Unsafe<'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'silent'>({
    type: 'string',
    enum: ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'],
    default: 'info',
    description: 'The least severe line that is logged.',
  }),
  LOG_FORMAT: Type.Unsafe<'auto' | 'json' | 'pretty'>({
    type: 'string',
    enum: ['auto', 'json', 'pretty'],
    default: 'auto',
    description: 'How lines look; `auto` is `pretty` on a terminal and `json` elsewhere.',
  }),
  AUTH_MODE: Type.Optional(
    Type.Unsafe<'open' | 'required'>({
      type: 'string',
      enum: ['open', 'required'],
      description:
        'Who may call. `open`: everybody. `required`: whoever has an API key or a token. Must be set in production.',
    }),
  ),
  AUTH_JWKS_URL: Type.Optional(
    Type.String({
      pattern: '^https?://',
      description: 'Where the public keys of the token issuer are. Set, JWTs are accepted beside API keys.',
    }),
  ),
  AUTH_ISSUER: Type.Optional(
    Type.String({ minLength: 1, description: 'The `iss` that a JWT must have. Goes with `AUTH_JWKS_URL`.' }),
  ),
  AUTH_AUDIENCE: Type.Optional(
    Type.String({ minLength: 1, description: 'The `aud` that a JWT must have. Goes with `AUTH_JWKS_URL`.' }),
  ),
  AUDIT_RETENTION_DAYS: whole(0, 36500, 365, 'How many days the audit log is kept; 0 keeps it for ever.'),
  CORS_ORIGINS: Type.String({
    default: '',
    description:
      'The origins whose pages may call, separated by commas, or `*` for all. Empty: none but this service.',
  }),
  RATE_LIMIT_MAX: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 1000000000,
      description: 'Requests in each window, instead of 600 for a key and 300 for an address without one.',
    }),
  ),
  RATE_LIMIT_WINDOW: whole(1, 86400, 60, 'The length of the window, in seconds.'),
  TRUST_PROXY: Type.String({
    default: '',
    description:
      'The proxies whose `X-Forwarded-For` is believed: a number of hops, or addresses separated by commas. Empty: none. A number is right only where nobody reaches the port but through the proxies.',
  }),
  REDIS_URL: Type.Optional(
    Type.String({
      ...secret,
      pattern: '^rediss?://',
      description: 'A Redis or Valkey that counts the limits for all instances. Absent: each counts its own.',
    }),
  ),
  WEBHOOK_SECRETS: Type.Optional(
    Type.String({
      ...secret,
      description:
        'JSON, the signing secrets of each webhook provider, the current one first: `{"stripe":["current","previous"]}`. A value may also be an object with `scheme` (`timestamped`, `sha256` or `standard`), `header` and `secrets`. When absent, the embedded database keeps a random secret for `stripe` beside its data.',
    }),
  ),
  WEBHOOK_TOLERANCE: whole(1, 86400, 300, 'Seconds that a signature may be old, or ahead of our clock.'),
  WEBHOOK_BODY_LIMIT: whole(1024, 67108864, 2097152, 'The largest webhook body, in bytes.'),
  WEBHOOK_RETRIES: whole(0, 10, 10, 'How often a failed event is tried again before it is dead.'),
  WEBHOOK_RETRY_DELAY: whole(
    1,
    3600,
    5,
    'Seconds before the first retry. Each later one waits twice as long, with jitter.',
  ),
  WEBHOOK_RETRY_DELAY_MAX: whole(1, 86400, 3600, 'The longest wait between two retries, in seconds.'),
  WEBHOOK_RETENTION_DAYS: whole(
    1,
    3650,
    30,
    'Days after which processed and ignored events are deleted. Failed and dead ones stay.',
  ),
  WORKER: Type.Unsafe<'inside' | 'apart'>({
    type: 'string',
    enum: ['inside', 'apart'],
    default: 'inside',
    description: 'Where events are processed: `inside` this process, or `apart`, by `npm run worker`.',
  }),
  BODY_LIMIT: whole(1024, 67108864, 262144, 'The largest request body, in bytes.'),
  GRAPHQL_INTROSPECTION: Type.Unsafe<'on' | 'off'>({
    type: 'string',
    enum: ['on', 'off'],
    default: 'on',
    description: 'Whether GraphQL tells its schema. `off` also turns the browser tool off.',
  }),
  GRAPHQL_TRUSTED_DOCUMENTS: Type.Optional(
    Type.String({
      minLength: 1,
      description:
        'A JSON file of GraphQL documents by their SHA-256 in hex. When set, no other document runs. Absent: all do.',
    }),
  ),
  GRAPHQL_MAX_LIST: whole(
    1,
    100000,
    1000,
    'Records in a GraphQL list that asks for no page. When there are more, the answer says so.',
  ),
  GRAPHQL_MAX_RECORDS: whole(1, 10000000, 50000, 'Records that one GraphQL request may read in all.'),
  GRAPHQL_MAX_DEPTH: whole(1, 100, 8, 'Levels of fields in a GraphQL query, introspection excepted.'),
  GRAPHQL_MAX_ALIASES: whole(0, 10000, 30, 'Aliases in a GraphQL query.'),
  GRAPHQL_MAX_NODES: whole(
    500,
    100000,
    1000,
    'Fields and fragments in a GraphQL query, counted as often as they are spread.',
  ),
  GRAPHQL_MAX_COST: whole(
    500,
    10000000,
    5000,
    'Records and look-ups that a GraphQL query asks for; a list without a `limit` counts as 5.',
  ),
  GRAPHQL_MAX_TOKENS: whole(500, 100000, 1000, 'Tokens in a GraphQL document.'),
  GRAPHQL_MAX_LENGTH: whole(5000, 1000000, 50000, 'Characters in a GraphQL document.'),
  REQUEST_TIMEOUT: whole(1, 600, 10, 'Seconds in which a request must have arrived completely.'),
  HANDLER_TIMEOUT: whole(2, 600, 15, 'Seconds after which an answer that is not there becomes a 503.'),
  MAX_IN_FLIGHT: whole(
    1,
    1000000,
    1000,
    'Requests that are worked on at once; more are answered with 503 and `Retry-After`. Health is always answered.',
  ),
  MAX_EVENT_LOOP_DELAY: whole(
    0,
    60000,
    500,
    'Milliseconds that the process may lag behind on average before new requests are answered with 503; 0 is no limit.',
  ),
  DRAIN_SECONDS: whole(
    0,
    600,
    0,
    'Seconds after SIGTERM in which `/health/ready` is 503 while requests go on, so that a balancer turns away first. 0 without a balancer.',
  ),
  SHUTDOWN_TIMEOUT: whole(
    1,
    60,
    8,
    'Seconds that requests in flight get after the draining before they are cut.',
  ),
  METRICS_PORT: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 65535,
      description:
        'A port of its own for `/metrics`, open to whoever reaches it, also of `npm run worker`. Absent: on `PORT`, for callers with the scope `admin`.',
    }),
  ),
  OTEL_EXPORTER_OTLP_ENDPOINT: Type.Optional(
    Type.String({
      pattern: '^https?://',
      description:
        'Where traces are sent by OTLP over HTTP, as JSON, such as `http://localhost:4318`. Absent: there are none. The other standard `OTEL_*` variables count too.',
    }),
  ),
  OTEL_EXPORTER_OTLP_PROTOCOL: Type.Optional(
    Type.String({
      description: 'Traces are sent as `http/json` and as nothing else: another value stops the start.',
    }),
  ),
  OTEL_TRACES_EXPORTER: Type.Optional(
    Type.Unsafe<'otlp' | 'none'>({
      type: 'string',
      enum: ['otlp', 'none'],
      description:
        '`otlp` sends traces also without an endpoint, to `http://localhost:4318`; `none` sends none.',
    }),
  ),
});
export type Settings = Static<typeof Settings>;
