import { Redis, type RedisOptions } from 'ioredis';
import { OperatorError } from '#src/core/errors.ts';
import { operatorReason } from './databaseErrors.ts';

/** Fails fast: a request must wait neither for a connection that is down nor for one that hangs. */
const failFastOptions = {
  enableOfflineQueue: false,
  maxRetriesPerRequest: 0,
  autoResendUnfulfilledCommands: false,
  commandTimeout: 250,
  // A process is busy while it starts, and no request waits for a connection.
  connectTimeout: 3000,
  retryStrategy: (attempt: number) => Math.min(100 * attempt, 1000),
  enableAutoPipelining: true,
} as const;

/** Redis is connected but hangs, or this process was busy and its answer is there. */
const isTimeout = (error: unknown) => error instanceof Error && error.message === 'Command timed out';

type Options = { keyPrefix: string } & Pick<RedisOptions, 'scripts'>;

/** Connects to Redis; `onFailure` is called whenever the connection or a command fails. */
export function connectRedis<R extends Redis>(
  url: string,
  options: Options,
  onFailure: (error: unknown) => void,
) {
  const redis = new Redis(url, { ...failFastOptions, ...options }) as R;
  /** What Redis or its client says is a reason, not a bug with a stack. */
  const failed = (error: Error) =>
    onFailure(operatorReason(error) ? error : new OperatorError(error.message));
  redis.on('error', failed);
  // A Redis that restarts has lost what it stored, and may be back before the next command.
  redis.on('close', () => failed(new Error('The connection was closed.')));
  return {
    redis,
    /** For the error of a command. */
    report: (error: Error): false => {
      failed(error);
      // Only a new connection shows when Redis has recovered. On this one, what is written would stay in memory.
      if (isTimeout(error) && redis.status === 'ready') redis.disconnect(true);
      return false;
    },
  };
}
