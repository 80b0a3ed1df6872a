const first = Date.parse('0001-01-01T00:00:00Z');
const last = Date.parse('9999-12-31T23:59:59.999Z');

/** The time of a change: later than the last one even when the clock steps back, so no stale copy looks current. */
export const timeOfChange = (now: Date, lastChange: string) =>
  new Date(Math.max(now.getTime(), Date.parse(lastChange) + 1)).toISOString();

/** An RFC 3339 time, cut to milliseconds; undefined when the database cannot store it, such as the year 0. */
function parseInstant(text: string): Date | undefined {
  // RFC 3339 allows leap seconds; `Date` does not. With a space for the T, `Date` reads 0012 as 2001, and 0049 as 2049.
  const time = Date.parse(text.replace(/:60(?=[.Zz+-])/, ':59').replace(/\s/, 'T'));
  return time >= first && time <= last ? new Date(time) : undefined;
}

/** The time in UTC. */
export const readInstant = (text: string) => parseInstant(text)?.toISOString();

/** The time as a bound, rounded up to a millisecond: rounded down, "since .0005" would include .000. */
export function readBound(text: string): Date | undefined {
  const time = parseInstant(text);
  const hasFraction = /\.\d{3}\d*[1-9]/.test(text);
  return time && hasFraction ? new Date(time.getTime() + 1) : time;
}
