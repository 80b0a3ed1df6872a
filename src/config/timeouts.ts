import type { Settings } from '../../schemas/settings.ts';

// Times that depend on each other, in milliseconds. All but the first follow from REQUEST_TIMEOUT.

/** A client must have sent its whole request by then. */
export const arrivalTimeout = 10_000;

/** A handler that has not answered by then is answered for with 503. */
export const handlerTimeout = ({ REQUEST_TIMEOUT }: Pick<Settings, 'REQUEST_TIMEOUT'>) =>
  REQUEST_TIMEOUT * 1000;

/** Shorter than its handler has: after the 503 nobody waits for the result. */
export const statementTimeout = (settings: Pick<Settings, 'REQUEST_TIMEOUT'>) =>
  handlerTimeout(settings) * 0.75;

/** Longer than any exchange takes: a socket silent for this long belongs to a client that does not read. */
export const socketTimeout = (settings: Pick<Settings, 'REQUEST_TIMEOUT'>) =>
  arrivalTimeout + handlerTimeout(settings);

/** After SIGTERM: when connections are closed by force, and when the process exits whatever is left. */
export const shutdownTimeouts = (settings: Pick<Settings, 'REQUEST_TIMEOUT'>) => ({
  close: handlerTimeout(settings),
  exit: handlerTimeout(settings) + 1500,
});
