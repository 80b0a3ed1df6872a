/** Fails fast: a request must wait neither for a connection that is down nor for one that hangs. */
export const failFastOptions = {
  enableOfflineQueue: false,
  maxRetriesPerRequest: 0,
  autoResendUnfulfilledCommands: false,
  commandTimeout: 250,
  connectTimeout: 1000,
  retryStrategy: (attempt: number) => Math.min(100 * attempt, 1000),
  enableAutoPipelining: true,
} as const;

/** Redis is connected but hangs. Only a new connection shows when it has recovered. */
export const isTimeout = (error: Error) => error.message === 'Command timed out';
