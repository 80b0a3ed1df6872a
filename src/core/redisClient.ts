/** Nothing waits for a connection that is not there, and nothing waits long for one that hangs. */
export const failFastOptions = {
  enableOfflineQueue: false,
  maxRetriesPerRequest: 0,
  autoResendUnfulfilledCommands: false,
  commandTimeout: 250,
  connectTimeout: 1000,
  retryStrategy: (attempt: number) => Math.min(100 * attempt, 1000),
  enableAutoPipelining: true,
} as const;

/** It is connected and does not answer: only a new connection tells when it is well again. */
export const isTimeout = (error: Error) => error.message === 'Command timed out';
