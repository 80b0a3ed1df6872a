import { Settings } from '../../schemas/settings.ts';
import { distance } from '../core/suggestName.ts';

const settings = Object.entries(Settings.properties);
const names = settings.map(([name]) => name);
const files = settings.filter(([, { secret }]) => secret).map(([name]) => `${name}_FILE`);
const known = [...names, ...files];

/** Shorter names are one letter away from too much that belongs to others. */
const shortestGuess = 8;

/**
 * Variables that look like a setting and are none. Ignored in silence, `AUTHMODE=required` would leave the service
 * open. What the meant setting itself says wins, so such a variable may be there for another program.
 */
export function misspeltNames(env: Record<string, string | undefined>): string[] {
  const isSet = (name: string) => Boolean(env[name] || env[`${name}_FILE`]);
  return Object.entries(env).flatMap(([name, value]) => {
    if (!value || known.includes(name) || isServiceLink(value)) return [];
    const whole = withoutFile(name);
    if (whole !== name && names.includes(whole))
      return env[whole] ? [] : [`${name} is not read: only secrets can be given as files`];
    const meant = meantBy(name);
    if (meant === undefined || isSet(withoutFile(meant))) return [];
    return [`${name} is not a setting: did you mean ${meant}?`];
  });
}

const withoutFile = (name: string) => name.replace(/_FILE$/, '');

/** What Kubernetes and Docker put into the environment for each service: METRIC_PORT of one that is named `metric`. */
const isServiceLink = (value: string) => /^(tcp|udp|sctp):\/\//.test(value);

function meantBy(name: string): string | undefined {
  const typed = name.toUpperCase();
  return (
    known.find(candidate => letters(candidate) === letters(longEnough(name) ? typed : name)) ??
    known.find(candidate => longEnough(candidate) && isOneEdit(typed, candidate))
  );
}

/** `host` and `port` in small letters are used by many programs. */
const longEnough = (name: string) => name.length >= shortestGuess;
const letters = (name: string) => name.replaceAll(/[-_]/g, '');

const isOneEdit = (a: string, b: string) => Math.abs(a.length - b.length) <= 1 && distance(a, b) === 1;
