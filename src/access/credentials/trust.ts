/** Milliseconds. Keys and persons are trusted this long after they were read, so all instances see a change by then. */
const trustedFor = 4000;

let changedAt = Number.NEGATIVE_INFINITY;

/** Distrusts all that was read before. Called after this process revoked a key or changed for whom a token stands. */
export const trustNothing = () => {
  changedAt = performance.now();
};

/** Whether what was read at this time, on the monotonic clock, is still trusted. */
export const isTrusted = (readAt: number) => readAt > changedAt && performance.now() - readAt <= trustedFor;
