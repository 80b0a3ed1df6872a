import { Settings } from '../../schemas/settings.ts';
import { distance } from '../core/text.ts';

const settings = Object.entries(Settings.properties);
const names = settings.map(([name]) => name);
const files = settings.filter(([, { secret }]) => secret).map(([name]) => `${name}_FILE`);
const known = [...names, ...files];

/** Shorter names are one letter away from too many that belong to other programs. */
const shortestGuess = 8;

/**
 * Former settings. Ignored in silence, a limit that somebody relies on would no longer apply. LOG_FORMAT is not here:
 * platforms set it for all their containers.
 */
const removed = new Map([
  ...['STATEMENT_TIMEOUT', 'HANDLER_TIMEOUT', 'SHUTDOWN_TIMEOUT'].map(
    name => [name, 'REQUEST_TIMEOUT sets it'] as const,
  ),
  ...`QUEUE_BACKEND DATABASE_POOL_WAIT REPLICA_MAX_LAG WEBHOOK_TOLERANCE WEBHOOK_BODY_LIMIT WEBHOOK_RETRY_DELAY
    WEBHOOK_RETRY_DELAY_MAX BODY_LIMIT GRAPHQL_MAX_RECORDS GRAPHQL_MAX_LENGTH`
    .split(/\s+/)
    .map(name => [name, 'its value is fixed'] as const),
]);

/**
 * Variables that look like a setting and are none. Ignored in silence, `AUTHMODE=required` would leave the service
 * open. Where the intended setting is set as well, the variable may belong to another program. A name in a `.env` file
 * hardly does, so `fromFile` is matched more freely.
 */
export function unknownNames(
  env: Record<string, string | undefined>,
  fromFile: readonly string[] = [],
): string[] {
  const isSet = (name: string) => Boolean(env[name] || env[`${name}_FILE`]);
  return Object.entries(env).flatMap(([name, value]) => {
    if (!value || known.includes(name) || isServiceLink(value)) return [];
    const reason = removed.get(name);
    if (reason) return [`${name} is no longer a setting: ${reason}`];
    const base = withoutFile(name);
    if (base !== name && names.includes(base))
      return env[base] ? [] : [`${name} is not read: only secrets can be given as files`];
    const guess = guessFor(name) ?? (fromFile.includes(name) ? freeGuessFor(name) : undefined);
    if (guess === undefined || isSet(withoutFile(guess))) return [];
    return [`${name} is not a setting: did you mean ${guess}?`];
  });
}

const withoutFile = (name: string) => name.replace(/_FILE$/, '');

/** What Kubernetes and Docker set for each service, such as METRIC_PORT for one named `metric`. */
const isServiceLink = (value: string) => /^(tcp|udp|sctp):\/\//.test(value);

const isLong = (name: string) => name.length >= shortestGuess;
const letters = (name: string) => name.replaceAll(/[-_]/g, '');

function guessFor(name: string): string | undefined {
  const typed = name.toUpperCase();
  return (
    // Many programs use `host` and `port` in lower case.
    known.find(candidate => letters(candidate) === letters(isLong(name) ? typed : name)) ??
    known.find(candidate => isLong(candidate) && distance(typed, candidate) === 1)
  );
}

/** Two edits away, or one where the name is short; or the same letters in another order. */
function freeGuessFor(name: string): string | undefined {
  const typed = name.toUpperCase();
  const sorted = (text: string) => [...text].sort().join('');
  return known.find(
    candidate =>
      distance(typed, candidate) <= (isLong(candidate) ? 2 : 1) || sorted(typed) === sorted(candidate),
  );
}
