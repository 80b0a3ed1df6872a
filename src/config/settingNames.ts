import leven from 'leven';
import { Settings } from '#schemas/settings.ts';
import { suggestName } from '#src/core/text.ts';

const known = Object.entries(Settings.properties).flatMap(([name, { secret }]) =>
  secret ? [name, `${name}_FILE`] : [name],
);
const letters = (name: string) => name.toUpperCase().replaceAll(/[-_]/g, '');
/** Whether Kubernetes or Docker set the value for a service, such as METRIC_PORT for one named `metric`. */
const isServiceLink = (value: string) => /^(tcp|udp|sctp):\/\//.test(value);

/**
 * Variables that look like misspelt settings: `AUTHMODE=required` would leave the service open. A variable with a short
 * name, or whose intended setting is set too, may belong to another program.
 */
export function misspeltNames(env: Record<string, string | undefined>): string[] {
  const isSet = (name: string) => Boolean(env[name] || env[`${name}_FILE`]);
  return Object.entries(env).flatMap(([name, value]) => {
    if (!value || name.length < 8 || known.includes(name) || isServiceLink(value)) return [];
    const meant = known.find(candidate => leven(letters(name), letters(candidate)) <= 1);
    if (meant === undefined || isSet(meant.replace(/_FILE$/, ''))) return [];
    return [`${name} is not a setting: did you mean ${meant}?`];
  });
}

/** A warning about `.env` names that are not settings: no other program reads them. */
export function warningAbout(names: string[]): string | undefined {
  const ignored = names.filter(name => !known.includes(name) && !name.startsWith('OTEL_'));
  const described = ignored.map(name => {
    const meant = suggestName(name, known);
    return meant ? `${name} (did you mean ${meant}?)` : name;
  });
  return ignored.length > 0 ? `.env has names that are no settings: ${described.join(', ')}` : undefined;
}
