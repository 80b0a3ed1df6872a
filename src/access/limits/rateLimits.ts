import type { Settings } from '#schemas/settings.ts';
import type { Actor } from '#src/core/actor.ts';
import type { Log } from '#src/telemetry/log.ts';
import { networkOf } from './addresses.ts';
import { openMemoryStore, type RateLimitStore } from './rateLimitStore.ts';

type Limited = Pick<Settings, 'REDIS_URL' | 'RATE_LIMIT_MAX' | 'RATE_LIMIT_WINDOW'>;
export type RateLimits = Awaited<ReturnType<typeof openRateLimits>>;
/** What a request counts against, and the limit of each window. */
export type Account = ReturnType<RateLimits['accountOf']>;

/** How many requests each caller may send. */
export async function openRateLimits({ REDIS_URL, RATE_LIMIT_MAX, RATE_LIMIT_WINDOW }: Limited, log: Log) {
  const window = RATE_LIMIT_WINDOW * 1000;
  const [perKey, perAddress] = [RATE_LIMIT_MAX ?? 600, RATE_LIMIT_MAX ?? 300];
  const store: RateLimitStore =
    REDIS_URL === undefined
      ? openMemoryStore(window)
      : (await import('./redisRateLimitStore.ts')).openRedisRateLimitStore(REDIS_URL, window, log);
  return {
    store,
    /** Callers with a key or a token are counted by it, all others by their address. */
    accountOf: (actor: Actor, address: string | undefined) =>
      actor.id === null
        ? { name: `address:${networkOf(address)}`, maximum: perAddress }
        : { name: `${actor.kind}:${actor.id}`, maximum: perKey },
    /** Lookups of invalid credentials are counted by address, apart from the requests themselves. */
    guessAccountOf: (address: string | undefined) => ({
      name: `guess:${networkOf(address)}`,
      maximum: perAddress,
    }),
  };
}
