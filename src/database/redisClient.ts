import { Redis, type RedisOptions } from 'ioredis';
import { OperatorError } from '#src/core/errors.ts';
import { operatorReason } from './databaseErrors.ts';

/** Fails fast: a request must wait neither for a connection that is down nor for one that hangs. */
const failFastOptions = {
  enableOfflineQueue: false,
  maxRetriesPerRequest: 0,
  autoResendUnfulfilledCommands: false,
  commandTimeout: 250,
  // This may be long: a starting process is busy, and no request waits for a connection.
  connectTimeout: 3000,
  retryStrategy: (attempt: number) => Math.min(100 * attempt, 1000),
  enableAutoPipelining: true,
} as const;

/** Whether a command got no answer in time: Redis hangs, or this process was too busy to read the answer. */
const isTimeout = (error: unknown) => error instanceof Error && error.message === 'Command timed out';

type Options = { keyPrefix: string } & Pick<RedisOptions, 'scripts'>;

/** Connects to Redis; `onFailure` is called whenever the connection or a command fails. */
export function connectRedis<R extends Redis>(
  url: string,
  options: Options,
  onFailure: (error: unknown) => void,
) {
  const redis = new Redis(url, { ...failFastOptions, ...options }) as R;
  /** Reports what Redis or its client says as a reason, not as a bug with a stack. */
  const failed = (error: Error) =>
    onFailure(operatorReason(error) ? error : new OperatorError(error.message));
  redis.on('error', failed);
  // A Redis that restarts has lost what it stored, and may be back before a command fails.
  redis.on('close', () => failed(new Error('The connection was closed.')));
  return {
    redis,
    /** Reports the error of a command. */
    report: (error: Error): false => {
      failed(error);
      // A new connection shows when Redis has recovered. What is written to this one would stay in memory.
      if (isTimeout(error) && redis.status === 'ready') redis.disconnect(true);
      return false;
    },
  };
}
