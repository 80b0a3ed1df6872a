import type { Settings } from '../../schemas/settings.ts';
import type { Actor } from '../core/actor.ts';
import type { Log } from '../core/log.ts';
import { networkOf } from './addresses.ts';
import { MemoryRateLimitStore, type RateLimitStore } from './rateLimitStore.ts';
import { RedisRateLimitStore } from './redisRateLimitStore.ts';

/** What a request counts against, and the limit of each window. */
export interface Account {
  name: string;
  maximum: number;
}

/** How many requests each caller may send. */
export class RateLimits {
  readonly store: RateLimitStore;
  readonly #perKey: number;
  readonly #perAddress: number;

  constructor(store: RateLimitStore, maximum: number | undefined) {
    this.store = store;
    this.#perKey = maximum ?? 600;
    this.#perAddress = maximum ?? 300;
  }

  /** Callers with a key or a token are counted by it, all others by their address. */
  accountOf(actor: Actor, address: string | undefined): Account {
    return actor.id === null
      ? { name: `address:${networkOf(address)}`, maximum: this.#perAddress }
      : { name: `${actor.kind}:${actor.id}`, maximum: this.#perKey };
  }

  /** Lookups of invalid credentials are counted by address, apart from the requests themselves. */
  guessAccountOf(address: string | undefined): Account {
    return { name: `guess:${networkOf(address)}`, maximum: this.#perAddress };
  }
}

export function openRateLimits(settings: Settings, log: Log): RateLimits {
  const { REDIS_URL: url, RATE_LIMIT_MAX: maximum, RATE_LIMIT_WINDOW: seconds } = settings;
  const window = seconds * 1000;
  const store =
    url === undefined ? new MemoryRateLimitStore(window) : new RedisRateLimitStore(url, window, log);
  return new RateLimits(store, maximum);
}
