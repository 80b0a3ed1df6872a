import { Redis } from 'ioredis';
import type { Log } from './log.ts';
import { impatient } from './redis.ts';

/** Who has written lately, for all instances. */
export class Marks {
  readonly #redis: Redis;
  readonly #life: number;

  constructor(url: string, life: number, log: Log) {
    this.#life = life;
    this.#redis = new Redis(url, { keyPrefix: 'triport:wrote:', ...impatient });
    // Unheard, it would end the process. The limits tell that Redis is away.
    this.#redis.on('error', error => log.debug({ err: error }, 'Redis'));
  }

  /** Whom nobody can be asked about reads from the primary. */
  async has(name: string): Promise<boolean> {
    if (this.#redis.status !== 'ready') return true;
    return this.#redis.exists(name).then(Boolean, () => true);
  }

  async set(name: string): Promise<void> {
    // While Redis is away from all, nobody reads from a replica. From one alone: ARCHITECTURE.md, what is not promised.
    await this.#redis.set(name, 1, 'PX', this.#life).catch(() => {});
  }

  async close(): Promise<void> {
    this.#redis.disconnect();
  }
}
