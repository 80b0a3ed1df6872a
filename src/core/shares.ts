import { setImmediate } from 'node:timers/promises';
import { tookTooLong } from './errors.ts';
import { keptIn } from './kept.ts';

/**
 * What is under way of something that all share, by name: of each account, or of what writes lock. No name gets more than
 * its share, and those that wait have their turns one name after the other.
 */
export class Shares {
  readonly #each: number;
  readonly #all: number;
  readonly #held = new Map<string, number>();
  /** By name, the functions that let those who wait begin. */
  readonly #waiting = new Map<string, (() => void)[]>();
  #sum = 0;

  constructor(each: number, all = Number.POSITIVE_INFINITY) {
    [this.#each, this.#all] = [each, all];
  }

  /** Takes so much now; says whether the name may have it. */
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
      // What else the name wants comes behind the other names.
      this.#waiting.delete(name);
      if (queue.length > 0) this.#waiting.set(name, queue);
      return;
    }
  }

  /** Does the work when it is its turn; fails when that is not before the deadline. */
  async inTurn<T>(name: string, deadline: number, work: () => Promise<T>): Promise<T> {
    // Many may have no more to do than to fail: others are served between.
    if (await this.begin(name, deadline)) await setImmediate();
    return work().finally(() => this.give(name));
  }

  /** Takes one when it is its turn; says whether it had to wait. */
  async begin(name: string, deadline: number): Promise<boolean> {
    if (this.take(name)) return false;
    const { promise, resolve, reject } = Promise.withResolvers<boolean>();
    const queue = keptIn(this.#waiting, name, () => []);
    const begin = () => {
      clearTimeout(timer);
      resolve(true);
    };
    const timer = setTimeout(() => {
      queue.splice(queue.indexOf(begin), 1);
      if (queue.length === 0) this.#waiting.delete(name);
      reject(tookTooLong());
    }, deadline - performance.now());
    queue.push(begin);
    return promise;
  }

  #heldBy = (name: string) => this.#held.get(name) ?? 0;
}
