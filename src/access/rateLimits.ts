import type { Settings } from '../../schemas/settings.ts';
import type { Actor } from '../core/actor.ts';
import { AppError } from '../core/errors.ts';
import type { Log } from '../core/log.ts';
import { networkOf } from './addresses.ts';
import { MemoryRateLimitStore, type RateLimitStore, type Usage } from './rateLimitStore.ts';
import { RedisRateLimitStore } from './redisRateLimitStore.ts';

/** Who pays for a request, and how much he may spend in each window. */
export interface Account {
  name: string;
  maximum: number;
}

/** How much one caller may ask for. */
export class RateLimits {
  readonly #store: RateLimitStore;
  readonly #forKey: number;
  readonly #forAddress: number;

  constructor(store: RateLimitStore, maximum: number | undefined) {
    this.#store = store;
    this.#forKey = maximum ?? 600;
    this.#forAddress = maximum ?? 300;
  }

  /** Whoever has shown a key or a token pays with that, wherever he is; everybody else by his address. */
  accountOf(actor: Actor, address: string | undefined): Account {
    return actor.id === null
      ? { name: `address:${networkOf(address)}`, maximum: this.#forAddress }
      : { name: `${actor.kind}:${actor.id}`, maximum: this.#forKey };
  }

  /** Looking up credentials that are no good is paid by the address, beside what it asks for. */
  guessAccountOf(address: string | undefined): Account {
    return { name: `guess:${networkOf(address)}`, maximum: this.#forAddress };
  }

  spend(name: string, cost: number): Usage | Promise<Usage> {
    return this.#store.add(name, cost);
  }

  get size(): number {
    return this.#store.size;
  }

  close(): Promise<void> {
    return this.#store.close();
  }
}

type LimitSettings = Pick<Settings, 'REDIS_URL' | 'RATE_LIMIT_MAX' | 'RATE_LIMIT_WINDOW'>;

export function openRateLimits(settings: LimitSettings, log: Log): RateLimits {
  const window = settings.RATE_LIMIT_WINDOW * 1000;
  const store =
    settings.REDIS_URL === undefined
      ? new MemoryRateLimitStore(window)
      : new RedisRateLimitStore(settings.REDIS_URL, window, log);
  return new RateLimits(store, settings.RATE_LIMIT_MAX);
}

export const tooMany = ({ endsIn }: Pick<Usage, 'endsIn'>) =>
  new AppError('rate_limited', 'Too many requests.', {
    code: 'rate_limited',
    retryAfter: Math.max(1, Math.ceil(endsIn / 1000)),
  });
