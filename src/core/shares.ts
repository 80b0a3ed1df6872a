import { setImmediate } from 'node:timers/promises';
import { tookTooLong } from './errors.ts';
import { keptIn } from './kept.ts';

/**
 * Counts how much of a shared resource each name holds. A name stands for an account, or for what a write locks. No
 * name gets more than its share, and waiting names take turns.
 */
export class Shares {
  readonly #each: number;
  readonly #all: number;
  readonly #held = new Map<string, number>();
  /** The functions that let waiting callers begin, by name. */
  readonly #waiting = new Map<string, (() => void)[]>();
  #sum = 0;

  constructor(each: number, all = Number.POSITIVE_INFINITY) {
    [this.#each, this.#all] = [each, all];
  }

  /** Takes the amount now if the name may have it; returns whether it did. */
  take(name: string, amount = 1): boolean {
    const held = this.#heldBy(name) + amount;
    if (held > this.#each || this.#sum + amount > this.#all) return false;
    this.#held.set(name, held);
    this.#sum += amount;
    return true;
  }

  give(name: string, amount = 1): void {
    const held = this.#heldBy(name) - amount;
    if (held > 0) this.#held.set(name, held);
    else this.#held.delete(name);
    this.#sum -= amount;
    if (this.#waiting.size > 0) this.#letBegin();
  }

  #letBegin(): void {
    for (const [name, queue] of this.#waiting) {
      if (!this.take(name)) continue;
      queue.shift()?.();
      // The rest of the queue of this name moves behind the other names.
      this.#waiting.delete(name);
      if (queue.length > 0) this.#waiting.set(name, queue);
      return;
    }
  }

  /** Does the work in its turn; fails if the turn does not come before the deadline. */
  async inTurn<T>(name: string, deadline: number, work: () => Promise<T>): Promise<T> {
    // Lets others be served between two turns: a long queue of work that only fails would hold them up.
    if (await this.begin(name, deadline)) await setImmediate();
    return work().finally(() => this.give(name));
  }

  /** Takes an amount of 1 in its turn; returns whether it had to wait. */
  async begin(name: string, deadline: number): Promise<boolean> {
    if (this.take(name)) return false;
    const { promise, resolve, reject } = Promise.withResolvers<boolean>();
    const queue = keptIn(this.#waiting, name, () => []);
    const begin = () => {
      clearTimeout(timer);
      resolve(true);
    };
    const left = Math.max(0, deadline - performance.now());
    const timer = setTimeout(() => {
      queue.splice(queue.indexOf(begin), 1);
      if (queue.length === 0) this.#waiting.delete(name);
      reject(tookTooLong());
    }, left);
    queue.push(begin);
    return promise;
  }

  #heldBy = (name: string) => this.#held.get(name) ?? 0;
}
