import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { Settings } from '../../schemas/settings.ts';
import { OperatorError } from '../core/operatorErrors.ts';
import { compileCheck } from '../core/validation.ts';
import { readProviders } from './providers.ts';
import { misspeltNames } from './settingNames.ts';

const check = compileCheck(Settings, 'body');
export type Environment = Record<string, string | undefined>;

/** A setting that stops the start. The message lists everything that is wrong, not the first thing only. */
export class SettingsError extends OperatorError {
  constructor(problems: string[]) {
    super(
      `The service cannot start, because of its settings:\n${problems.map(line => `  - ${line}`).join('\n')}`,
    );
  }
}

/** The settings of an environment, complete and checked. */
export function readSettings(env: Environment): Settings {
  const problems: string[] = [];
  const given: Record<string, unknown> = {};
  for (const [name, schema] of Object.entries(Settings.properties)) {
    const value = schema.secret ? readSecret(name, env, problems) : env[name];
    // An empty variable counts as absent: that is what `NAME=` in a compose file means.
    if (value === undefined || value === '') continue;
    given[name] = schema.type === 'integer' && /^-?\d+$/.test(value) ? Number(value) : value;
  }
  for (const { path, message } of check(given) ?? []) problems.push(`${path.slice(1)} ${message}`);
  const settings = given as Settings;
  problems.push(...misspeltNames(env), ...contradictions(settings));
  if (problems.length > 0) throw new SettingsError(problems);
  return settings;
}

/** Whether traces are made: where they go is said, or that they go to the usual place. */
export const wantsTraces = ({
  OTEL_EXPORTER_OTLP_ENDPOINT: url,
  OTEL_TRACES_EXPORTER: exporter,
}: Settings) => (exporter === undefined ? url !== undefined : exporter === 'otlp');

function readSecret(name: string, env: Environment, problems: string[]): string | undefined {
  const path = env[`${name}_FILE`];
  if (!path) return env[name];
  if (env[name]) problems.push(`${name} and ${name}_FILE are both set: keep one`);
  try {
    const secret = readFileSync(path, 'utf8').trim();
    // Unlike an empty variable this is no habit but a mount that failed, and a default would hide it.
    if (!secret) problems.push(`${name}_FILE is an empty file`);
    return secret;
  } catch (error) {
    problems.push(`${name}_FILE cannot be read: ${(error as Error).message}`);
    return undefined;
  }
}

function contradictions(settings: Settings): string[] {
  const problems: string[] = [];
  if (settings.NODE_ENV === 'production' && !settings.AUTH_MODE)
    problems.push('AUTH_MODE must be set in production: `open` lets everybody read and write');
  if (trustedProxies(settings.TRUST_PROXY) === undefined)
    problems.push(
      'TRUST_PROXY must be a number of hops, or addresses (also with a /prefix) separated by commas',
    );
  if (settings.METRICS_PORT !== undefined && settings.METRICS_PORT === settings.PORT && settings.PORT !== 0)
    problems.push('METRICS_PORT must differ from PORT: leave it out to have /metrics there');
  const { OTEL_EXPORTER_OTLP_PROTOCOL: protocol = 'http/json' } = settings;
  if (wantsTraces(settings) && protocol !== 'http/json')
    problems.push('OTEL_EXPORTER_OTLP_PROTOCOL must be http/json, the one in which traces are sent');
  problems.push(...accessContradictions(settings));
  problems.push(...readProviders(settings.WEBHOOK_SECRETS).problems);
  if (settings.WORKER === 'apart' && settings.DATABASE_URL === undefined)
    problems.push('WORKER=apart needs DATABASE_URL: an embedded database belongs to one process');
  problems.push(...databaseContradictions(settings), ...unusableUrls(settings));
  problems.push(...limits.flatMap(limit => exceeded(limit, settings)));
  return problems;
}

type Limit = [
  name: keyof Settings,
  rule: 'must be less than' | 'must not be more than',
  limit: keyof Settings,
  why: string,
];
/** Settings of which one bounds the other. */
const limits: Limit[] = [
  ['STATEMENT_TIMEOUT', 'must be less than', 'HANDLER_TIMEOUT', 'after it, nobody waits for the statement'],
  [
    'DATABASE_POOL_WAIT',
    'must not be more than',
    'HANDLER_TIMEOUT',
    'after it, nobody waits for a connection',
  ],
  ['GRAPHQL_MAX_LIST', 'must not be more than', 'GRAPHQL_MAX_RECORDS', 'no list can be longer than that'],
  [
    'WEBHOOK_RETRY_DELAY',
    'must not be more than',
    'WEBHOOK_RETRY_DELAY_MAX',
    'no retry waits longer than that',
  ],
];

function exceeded([name, rule, limit, why]: Limit, settings: Settings): string[] {
  const [value, most] = [Number(settings[name]), Number(settings[limit])];
  if (rule === 'must be less than' ? !(value >= most) : !(value > most)) return [];
  return [`${name}=${value} ${rule} ${limit}=${most}: ${why}`];
}

/** The drivers would throw, some of them only later and again and again. The URL itself is a secret. */
function unusableUrls({ DATABASE_URL, QUEUE_DATABASE_URL, REDIS_URL }: Settings): string[] {
  return Object.entries({ DATABASE_URL, QUEUE_DATABASE_URL, REDIS_URL })
    .filter(([, url]) => url?.includes('://') && !isUsableUrl(url))
    .map(
      ([name]) =>
        `${name} must be a URL of one host, with a port up to 65535 and with percent-encoding in the user and password`,
    );
}

function isUsableUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { host, username, password, pathname } = new URL(text);
  if (host.includes(',')) return false;
  try {
    for (const part of [username, password, pathname]) decodeURIComponent(part);
    return true;
  } catch {
    return false;
  }
}

function databaseContradictions(settings: Settings): string[] {
  const { DATABASE_URL, DATABASE_POOLER, DATABASE_REPLICA_URLS, REDIS_URL } = settings;
  const problems: string[] = [];
  const { QUEUE_DATABASE_URL } = settings;
  for (const [name, value] of Object.entries({ DATABASE_REPLICA_URLS, QUEUE_DATABASE_URL }))
    if (value && !DATABASE_URL) problems.push(`${name} has no effect without DATABASE_URL`);
  if (DATABASE_POOLER === 'transaction' && !QUEUE_DATABASE_URL)
    problems.push(
      'QUEUE_DATABASE_URL must be set with DATABASE_POOLER=transaction: through the pooler nobody hears that there is work',
    );
  if (DATABASE_REPLICA_URLS && !REDIS_URL)
    problems.push(
      'REDIS_URL must be set with DATABASE_REPLICA_URLS: without it an instance does not know what a client wrote at another one',
    );
  if (replicaUrls(settings).some(url => !/^postgres(ql)?:\/\//.test(url) || !isUsableUrl(url)))
    problems.push('DATABASE_REPLICA_URLS must be PostgreSQL URLs, separated by commas');
  return problems;
}

export const replicaUrls = ({ DATABASE_REPLICA_URLS: urls }: Pick<Settings, 'DATABASE_REPLICA_URLS'>) =>
  entriesOf(urls ?? '');

const loopback = /^http:\/\/(localhost|127\.\d+\.\d+\.\d+|\[::1\])(:|\/|$)/;

function accessContradictions(settings: Settings): string[] {
  const { AUTH_MODE, AUTH_JWKS_URL: url, AUTH_ISSUER, AUTH_AUDIENCE } = settings;
  const problems: string[] = [];
  for (const [name, value] of Object.entries({ AUTH_ISSUER, AUTH_AUDIENCE })) {
    if (url && !value)
      problems.push(
        `${name} must be set with AUTH_JWKS_URL: without it, tokens made for others are good here`,
      );
    if (!url && value) problems.push(`${name} has no effect without AUTH_JWKS_URL`);
  }
  if (url && AUTH_MODE !== 'required')
    problems.push('AUTH_JWKS_URL has no effect unless AUTH_MODE is `required`: everybody may do everything');
  if (url && !URL.canParse(url)) problems.push('AUTH_JWKS_URL must be a URL');
  else if (url?.startsWith('http:') && !loopback.test(url))
    problems.push('AUTH_JWKS_URL must be https: whoever changes the keys on their way can sign tokens');
  const origins = allowedOrigins(settings.CORS_ORIGINS);
  for (const origin of origins.filter(origin => origin !== '*' && !isOrigin(origin)))
    problems.push(
      `CORS_ORIGINS holds ${JSON.stringify(origin)}, which is no origin such as https://example.com`,
    );
  if (origins.includes('*') && origins.length > 1)
    problems.push('CORS_ORIGINS must be a list or `*`, not both');
  return problems;
}

const entriesOf = (text: string) =>
  text
    .split(',')
    .map(entry => entry.trim())
    .filter(Boolean);

export const allowedOrigins = entriesOf;

/** Compared letter by letter with what browsers send: a slash at the end would never match. */
const isOrigin = (text: string) =>
  /^https?:[^*]+$/.test(text) && URL.canParse(text) && new URL(text).origin === text;

type Trust = false | string[] | ((address: string, hop: number) => boolean);

/** What TRUST_PROXY says: nobody, so many hops, or these addresses; undefined when it makes no sense. */
export function trustedProxies(text: string): Trust | undefined {
  if (text === '' || text === '0') return false;
  if (/^\d{1,2}$/.test(text)) return (_address, hop) => hop < Number(text);
  const addresses = text.split(',').map(entry => entry.trim());
  return addresses.every(isAddressRange) ? addresses : undefined;
}

function isAddressRange(entry: string): boolean {
  const [address = '', prefix, ...rest] = entry.split('/');
  const bits = { 4: 32, 6: 128 }[isIP(address)];
  if (bits === undefined || rest.length > 0) return false;
  return prefix === undefined || (/^\d{1,3}$/.test(prefix) && Number(prefix) <= bits);
}
