import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import type { Log } from '../core/log.ts';
import { failFastOptions, isTimeout } from '../core/redisClient.ts';
import { MemoryRateLimitStore, type RateLimitStore, type Usage } from './rateLimitStore.ts';

/** One script: a crash between separate commands would leave a count that never expires. */
const script = `
local used = redis.call('incrby', KEYS[1], ARGV[1])
local endsIn = redis.call('pttl', KEYS[1])
if endsIn < 0 then
  redis.call('pexpire', KEYS[1], ARGV[2])
  endsIn = tonumber(ARGV[2])
end
return { used, endsIn }`;

type Client = Redis & { count(name: string, cost: number, window: number): Promise<[number, number]> };

/** Milliseconds. */
const probeInterval = 250;

/** Counts for all instances in Redis or Valkey. While it is out of reach, each instance counts on its own. */
export class RedisRateLimitStore implements RateLimitStore {
  readonly #redis: Client;
  readonly #fallback: MemoryRateLimitStore;
  readonly #window: number;
  readonly #log: Log;
  #down = false;
  #failures = 0;
  #closed = false;

  constructor(url: string, window: number, log: Log) {
    this.#window = window;
    this.#log = log;
    this.#fallback = new MemoryRateLimitStore(window);
    this.#redis = new Redis(url, {
      keyPrefix: 'triport:limit:',
      ...failFastOptions,
      scripts: { count: { numberOfKeys: 1, lua: script } },
    }) as Client;
    this.#redis.on('error', error => this.#failed(error));
    this.#redis.on('close', () => this.#failed(new Error('The connection was closed.')));
  }

  add(name: string, cost: number): Usage | Promise<Usage> {
    if (this.#redis.status !== 'ready') {
      this.#failures++;
      return this.#fallback.add(name, cost);
    }
    return this.#redis.count(name, cost, this.#window).then(
      ([used, endsIn]) => ({ used, endsIn }),
      error => {
        this.#failed(error);
        if (isTimeout(error) && this.#redis.status === 'ready') this.#redis.disconnect(true);
        return this.#fallback.add(name, cost);
      },
    );
  }

  get size(): number {
    return this.#fallback.size;
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#redis.disconnect();
  }

  #failed(error: Error): void {
    this.#failures++;
    if (this.#down || this.#closed) return;
    this.#down = true;
    this.#log.warn(
      { err: error },
      'Redis is out of reach or refuses writes: until it is back, each instance counts on its own.',
    );
    void this.#waitForRedis();
  }

  /** Probes with a write: a read-only replica or a full Redis accepts connections and refuses every write. */
  async #waitForRedis(): Promise<void> {
    let failures: number;
    do {
      // When Redis is nearly full, some writes succeed between others that fail.
      failures = this.#failures;
      await sleep(probeInterval);
      if (this.#closed) return;
      await this.add('probe', 0);
    } while (failures !== this.#failures);
    this.#down = false;
    this.#log.info('Redis is back: limits are counted for all instances again.');
  }
}
