const first = Date.parse('0001-01-01T00:00:00Z');
const last = Date.parse('9999-12-31T23:59:59.999Z');

/** The time of a change: later than the one before it, so that a stale copy never looks like the current record. */
export const timeOfChange = (now: Date, lastChange: string) =>
  new Date(Math.max(now.getTime(), Date.parse(lastChange) + 1)).toISOString();

/**
 * An RFC 3339 time in UTC; undefined when it is none that the database can hold. A leap second and the year 0
 * are valid RFC 3339, and would be errors further down.
 */
export function readInstant(text: string): string | undefined {
  const time = Date.parse(text.replace(/:60(?=[.Zz+-])/, ':59'));
  return time >= first && time <= last ? new Date(time).toISOString() : undefined;
}
