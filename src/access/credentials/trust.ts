/** Milliseconds for which keys and persons, once read, are trusted: no instance sees a change later than that. */
const trustedFor = 4000;

let changedAt = Number.NEGATIVE_INFINITY;

/** Distrusts all that was read before. Called after this process revoked a key or changed whom a token stands for. */
export const trustNothing = () => {
  changedAt = performance.now();
};

/** Whether what was read at this time, on the monotonic clock, is still trusted. */
export const isTrusted = (readAt: number) => readAt > changedAt && performance.now() - readAt <= trustedFor;
