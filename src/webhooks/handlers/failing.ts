import type { IncomingEvent } from './handler.ts';

const marked = /_fail_(\d{1,3})$/;

/**
 * Fails for events whose id ends in, for example, `_fail_2`: in their first two attempts, until they are replayed. So
 * retries and dead events can be tried by hand. Only in development.
 */
export function failIfMarked({ eventId, attempts, replays }: IncomingEvent): void {
  const [, times] = marked.exec(eventId ?? '') ?? [];
  if (times !== undefined && replays === 0 && attempts < Number(times))
    throw new Error(`Failed on request, attempt ${attempts + 1} of ${times}.`);
}
