const first = Date.parse('0001-01-01T00:00:00Z');
const last = Date.parse('9999-12-31T23:59:59.999Z');

/** The time of a change: later than the one before it, so that a stale copy never looks like the current record. */
export const timeOfChange = (now: Date, lastChange: string) =>
  new Date(Math.max(now.getTime(), Date.parse(lastChange) + 1)).toISOString();

/** The time in milliseconds; finer digits are cut off. NaN when it is none that the database can hold. */
function parseInstant(text: string): number {
  const time = Date.parse(text.replace(/:60(?=[.Zz+-])/, ':59'));
  return time >= first && time <= last ? time : Number.NaN;
}

/**
 * An RFC 3339 time in UTC; undefined when it is none that the database can hold. A leap second and the year 0
 * are valid RFC 3339, and would be errors further down.
 */
export function readInstant(text: string): string | undefined {
  const time = parseInstant(text);
  return Number.isNaN(time) ? undefined : new Date(time).toISOString();
}

/**
 * An RFC 3339 time as a bound of times in milliseconds: the first millisecond that is not before it. Cut off
 * instead, "since .0005" would include .000.
 */
export function readBound(text: string): Date | undefined {
  const time = parseInstant(text);
  if (Number.isNaN(time)) return undefined;
  const isBetween = /\.\d{3}\d*[1-9]/.test(text);
  return new Date(isBetween ? time + 1 : time);
}
