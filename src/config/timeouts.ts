import type { Settings } from '#schemas/settings.ts';

// Times that depend on each other, in milliseconds. All but the first follow from REQUEST_TIMEOUT.

/** A client must send its whole request within this time. */
export const arrivalTimeout = 10_000;

/** A request that takes longer is answered with 503. */
export const handlerTimeout = ({ REQUEST_TIMEOUT }: Settings) => REQUEST_TIMEOUT * 1000;

/** Statements have less time, because nobody waits for a result after the 503. */
export const statementTimeout = (settings: Settings) => handlerTimeout(settings) * 0.75;

/** Longer than any exchange: a socket silent for this long belongs to a client that does not read. */
export const socketTimeout = (settings: Settings) => arrivalTimeout + handlerTimeout(settings);
