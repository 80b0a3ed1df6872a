import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import type { Log } from '../../core/log.ts';
import { failFastOptions, isTimeout } from '../../core/redisClient.ts';

/** Milliseconds. */
const probeEvery = 250;
/** By then the probe of every other instance has failed, too. */
const noticedAfter = 2 * probeEvery;
const retryEvery = 100;
/** How much later than this instance another one may reach Redis again. */
const reconnectTolerance = 1000;

/**
 * Who wrote lately, for all instances. An entry can get lost: Redis is away, is a replica that refuses writes, or is full.
 * So each instance keeps writing a key of its own. When that fails, it takes every caller for a recent writer until the
 * lost entries would have expired.
 */
export class RecentWriters {
  readonly #redis: Redis;
  readonly #lifetime: number;
  readonly #log: Log;
  readonly #probe = `probe:${randomUUID()}`;
  /** The first failure since the last probe that succeeded. */
  #failingSince: number | undefined;
  /** Until then entries may be missing. */
  #blindUntil: number | undefined;
  #closed = false;

  constructor(url: string, lifetime: number, log: Log) {
    this.#lifetime = lifetime;
    this.#log = log;
    const retryStrategy = () => probeEvery;
    this.#redis = new Redis(url, { keyPrefix: 'triport:wrote:', ...failFastOptions, retryStrategy });
    // Without a listener, it would end the process.
    this.#redis.on('error', error => log.debug({ err: error }, 'Redis'));
    // A Redis that restarts has lost all entries, and may be back before the next probe.
    this.#redis.on('close', () => this.#failed(new Error('The connection was closed.')));
    void this.#watch();
  }

  /** Whether this caller wrote lately; true when that cannot be known. */
  async has(name: string): Promise<boolean> {
    if (this.#blindUntil !== undefined || this.#redis.status !== 'ready') return true;
    const exists = await this.#redis.exists(name).catch(() => 1);
    return exists === 1 || this.#blindUntil !== undefined;
  }

  /** Settles when every instance knows that this caller wrote, or that it cannot know who did. */
  async set(name: string): Promise<void> {
    const began = performance.now();
    const failingFor = () => performance.now() - Math.min(began, this.#failingSince ?? began);
    while (!(await this.#write(name)) && failingFor() < noticedAfter) await sleep(retryEvery);
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#redis.disconnect();
  }

  /** Whether Redis stored it. */
  async #write(name: string): Promise<boolean> {
    const write = () => this.#redis.set(name, 1, 'PX', this.#lifetime);
    try {
      await write().catch(error => {
        if (!isTimeout(error)) throw error;
        // When this process was busy, the answer may be there and only look late.
        return write();
      });
      return true;
    } catch (error) {
      this.#failed(error as Error);
      // On a connection that hangs, everything that is written would stay in memory.
      if (isTimeout(error as Error) && this.#redis.status === 'ready') this.#redis.disconnect(true);
      return false;
    }
  }

  async #watch(): Promise<void> {
    // Before the first connection a write would count as a failure.
    await new Promise(settled => this.#redis.once('ready', settled).once('close', settled));
    for (; !this.#closed; await sleep(probeEvery)) if (await this.#write(this.#probe)) this.#succeeded();
  }

  #failed(error: Error): void {
    if (this.#closed) return;
    const time = performance.now();
    this.#failingSince ??= time;
    if (this.#blindUntil === undefined)
      this.#log.warn({ err: error }, 'Redis does not store who has written: all reads go to the primary.');
    this.#blindUntil = time + this.#lifetime + reconnectTolerance;
  }

  #succeeded(): void {
    this.#failingSince = undefined;
    if (this.#blindUntil === undefined || performance.now() < this.#blindUntil) return;
    this.#blindUntil = undefined;
    this.#log.info('Redis stores who has written again: reads use the replicas.');
  }
}
