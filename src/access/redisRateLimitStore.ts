import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import type { Log } from '../core/log.ts';
import { failFastOptions, isTimeout } from '../core/redisClient.ts';
import { MemoryRateLimitStore, type RateLimitStore, type Usage } from './rateLimitStore.ts';

/** One script, so that a count never stays without an end, whoever dies in between. */
const script = `
local used = redis.call('incrby', KEYS[1], ARGV[1])
local endsIn = redis.call('pttl', KEYS[1])
if endsIn < 0 then
  redis.call('pexpire', KEYS[1], ARGV[2])
  endsIn = tonumber(ARGV[2])
end
return { used, endsIn }`;

/** Milliseconds. */
const checkEvery = 250;

type Scripted = Redis & { tally(name: string, cost: number, window: number): Promise<[number, number]> };

/**
 * Counts in a Redis or Valkey, for all instances together. While it is away each instance counts for itself:
 * a limit that is too generous for a moment is better than a service that is down.
 */
export class RedisRateLimitStore implements RateLimitStore {
  readonly #redis: Scripted;
  readonly #alone: MemoryRateLimitStore;
  readonly #window: number;
  readonly #log: Log;
  #away = false;
  #failures = 0;
  #closed = false;

  constructor(url: string, window: number, log: Log) {
    this.#window = window;
    this.#log = log;
    this.#alone = new MemoryRateLimitStore(window);
    this.#redis = new Redis(url, {
      keyPrefix: 'triport:limit:',
      ...failFastOptions,
      scripts: { tally: { numberOfKeys: 1, lua: script } },
    }) as Scripted;
    this.#redis.on('error', error => this.#lost(error));
    this.#redis.on('close', () => this.#lost(new Error('The connection was closed.')));
  }

  add(name: string, cost: number): Usage | Promise<Usage> {
    if (this.#redis.status !== 'ready') {
      this.#failures++;
      return this.#alone.add(name, cost);
    }
    return this.#redis.tally(name, cost, this.#window).then(
      ([used, endsIn]) => ({ used, endsIn }),
      error => {
        this.#lost(error);
        if (isTimeout(error) && this.#redis.status === 'ready') this.#redis.disconnect(true);
        return this.#alone.add(name, cost);
      },
    );
  }

  get size(): number {
    return this.#alone.size;
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#redis.disconnect();
  }

  #lost(error: Error): void {
    this.#failures++;
    if (this.#away || this.#closed) return;
    this.#away = true;
    this.#log.warn(
      { err: error },
      'Redis is out of reach or refuses to count: until it is back each instance counts for itself.',
    );
    void this.#waitForRedis();
  }

  /** A connection is no proof: a replica, or one that is full, is connected and refuses every write. */
  async #waitForRedis(): Promise<void> {
    let failures: number;
    do {
      // Of one that is nearly full some counts succeed between others that fail: then it is not back yet.
      failures = this.#failures;
      await sleep(checkEvery);
      if (this.#closed) return;
      await this.add('probe', 0);
    } while (failures !== this.#failures);
    this.#away = false;
    this.#log.info('Redis is back: the limits are counted for all instances again.');
  }
}
