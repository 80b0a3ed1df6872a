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
    'Connections to PostgreSQL. Few are enough: statements are pipelined.',
  ),
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
      'The proxies whose `X-Forwarded-For` is believed: a number of hops, or addresses separated by commas. Empty: none.',
  }),
  REDIS_URL: Type.Optional(
    Type.String({
      ...secret,
      pattern: '^rediss?://',
      description: 'A Redis or Valkey that counts the limits for all instances. Absent: each counts its own.',
    }),
  ),
  BODY_LIMIT: whole(1024, 67108864, 262144, 'The largest request body, in bytes.'),
  REQUEST_TIMEOUT: whole(1, 600, 10, 'Seconds in which a request must have arrived completely.'),
  HANDLER_TIMEOUT: whole(1, 600, 15, 'Seconds after which an answer that is not there becomes a 503.'),
  SHUTDOWN_TIMEOUT: whole(1, 60, 8, 'Seconds that requests in flight get after SIGTERM before they are cut.'),
});
export type Settings = Static<typeof Settings>;
