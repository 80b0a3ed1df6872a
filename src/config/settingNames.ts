import { Settings } from '../../schemas/settings.ts';
import { distance } from '../core/text.ts';

const settings = Object.entries(Settings.properties);
const names = settings.map(([name]) => name);
const files = settings.filter(([, { secret }]) => secret).map(([name]) => `${name}_FILE`);
const known = [...names, ...files];

// Former settings: a limit that somebody relies on would silently no longer apply. Not LOG_FORMAT, which platforms set
// for all their containers.
const derived = ['STATEMENT_TIMEOUT', 'HANDLER_TIMEOUT', 'SHUTDOWN_TIMEOUT'];
const fixed =
  `QUEUE_BACKEND DATABASE_POOL_WAIT REPLICA_MAX_LAG WEBHOOK_TOLERANCE WEBHOOK_BODY_LIMIT BODY_LIMIT
  WEBHOOK_RETRY_DELAY WEBHOOK_RETRY_DELAY_MAX GRAPHQL_MAX_RECORDS GRAPHQL_MAX_LENGTH`.split(/\s+/);

/**
 * Variables that look like misspelt settings: `AUTHMODE=required` would leave the service open. If the intended setting
 * is set too, the variable may belong to another program. Names in a `.env` file hardly do: they are matched more freely.
 */
export function unknownNames(env: Record<string, string | undefined>, fromFile: string[] = []): string[] {
  const isSet = (name: string) => Boolean(env[name] || env[`${name}_FILE`]);
  return Object.entries(env).flatMap(([name, value]) => {
    if (!value || known.includes(name) || isServiceLink(value)) return [];
    if (derived.includes(name)) return [`${name} is no longer a setting: REQUEST_TIMEOUT sets it`];
    if (fixed.includes(name)) return [`${name} is no longer a setting: its value is fixed`];
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

/** Shorter names are one letter away from too many that belong to other programs. */
const isLong = (name: string) => name.length >= 8;
const letters = (name: string) => name.replaceAll(/[-_]/g, '');

function guessFor(name: string): string | undefined {
  const typed = name.toUpperCase();
  // Short ones as they are: many programs use `host` and `port` in lower case.
  const spelt = letters(isLong(name) ? typed : name);
  const same = known.find(candidate => letters(candidate) === spelt);
  const isSimilar = (candidate: string) => Math.abs(typed.length - candidate.length) < 2;
  return same ?? known.find(name => isLong(name) && isSimilar(name) && distance(typed, name) === 1);
}

/** Two edits away, or one where the name is short; or the same letters in another order. */
function freeGuessFor(name: string): string | undefined {
  const typed = name.toUpperCase();
  const sorted = (text: string) => [...text].sort().join('');
  const edits = (candidate: string) => (isLong(candidate) ? 2 : 1);
  return known.find(
    candidate => distance(typed, candidate) <= edits(candidate) || sorted(typed) === sorted(candidate),
  );
}
