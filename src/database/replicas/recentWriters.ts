import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import type { Log } from '../../core/log.ts';
import { failFastOptions, isTimeout } from '../../core/redisClient.ts';

/** Milliseconds. */
const probeEvery = 250;
/** After so long every other instance has seen by its own probe that Redis takes no marks. */
const noticedAfter = 2 * probeEvery;
const retryEvery = 100;
/** By how much another instance may find Redis again later than this one, and lose marks until then. */
const laterThanOthers = 1000;

/**
 * Who has written lately, for all instances. A mark may get lost: Redis is away, is a replica that refuses writes, or is
 * full. So each instance keeps writing a key of its own, and when that fails it takes everybody for a recent writer, until
 * the marks that were lost would have ended by themselves.
 */
export class RecentWriters {
  readonly #redis: Redis;
  readonly #life: number;
  readonly #log: Log;
  readonly #probe = `probe:${randomUUID()}`;
  /** When the first write failed of those that have failed since the last probe that did not. */
  #failingSince: number | undefined;
  /** Until then nobody's mark can be relied on. */
  #blindUntil: number | undefined;
  #closed = false;

  constructor(url: string, life: number, log: Log) {
    this.#life = life;
    this.#log = log;
    this.#redis = new Redis(url, {
      keyPrefix: 'triport:wrote:',
      ...failFastOptions,
      retryStrategy: () => probeEvery,
    });
    // Unheard, it would end the process.
    this.#redis.on('error', error => log.debug({ err: error }, 'Redis'));
    // A Redis that starts again has lost all marks, and may be back before the next probe.
    this.#redis.on('close', () => this.#failed(new Error('The connection was closed.')));
    void this.#watch();
  }

  /** Whom nobody can be asked about reads from the primary. */
  async has(name: string): Promise<boolean> {
    if (this.#blindUntil !== undefined || this.#redis.status !== 'ready') return true;
    return this.#redis.exists(name).then(
      // That marks get lost may have been found out meanwhile.
      found => found === 1 || this.#blindUntil !== undefined,
      () => true,
    );
  }

  /** Done when every instance knows that this caller has written, or that it cannot know who has. */
  async set(name: string): Promise<void> {
    const began = performance.now();
    const failingFor = () => performance.now() - Math.min(began, this.#failingSince ?? began);
    while (!(await this.#write(name)) && failingFor() < noticedAfter) await sleep(retryEvery);
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#redis.disconnect();
  }

  /** Whether Redis took it. */
  async #write(name: string): Promise<boolean> {
    const write = () => this.#redis.set(name, 1, 'PX', this.#life);
    try {
      await write().catch(error => {
        if (!isTimeout(error)) throw error;
        // When this process is busy, an answer that is there already is taken for one that is late.
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
    // Until then nothing can be written, which is no failure yet.
    await new Promise(settled => this.#redis.once('ready', settled).once('close', settled));
    for (; !this.#closed; await sleep(probeEvery)) if (await this.#write(this.#probe)) this.#succeeded();
  }

  #failed(error: Error): void {
    if (this.#closed) return;
    const time = performance.now();
    this.#failingSince ??= time;
    if (this.#blindUntil === undefined)
      this.#log.warn({ err: error }, 'Redis does not store who has written: all reads go to the primary.');
    this.#blindUntil = time + this.#life + laterThanOthers;
  }

  #succeeded(): void {
    this.#failingSince = undefined;
    if (this.#blindUntil === undefined || performance.now() < this.#blindUntil) return;
    this.#blindUntil = undefined;
    this.#log.info('Redis stores who has written again: reads use the replicas.');
  }
}
