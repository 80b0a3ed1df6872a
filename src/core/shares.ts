import { setImmediate } from 'node:timers/promises';
import { tookTooLong } from './errors.ts';
import { keptIn } from './kept.ts';

/**
 * What each account has under way of something that all share. No account gets more than its share, and those that wait
 * have their turns one account after the other.
 */
export class Shares {
  readonly #each: number;
  readonly #all: number;
  readonly #held = new Map<string, number>();
  /** What lets each begin, by account. */
  readonly #waiting = new Map<string, (() => void)[]>();
  #sum = 0;

  constructor(each: number, all = Number.POSITIVE_INFINITY) {
    [this.#each, this.#all] = [each, all];
  }

  /** Takes so much now; says whether the account may have it. */
  take(account: string, amount = 1): boolean {
    const held = this.#heldBy(account) + amount;
    if (held > this.#each || this.#sum + amount > this.#all) return false;
    this.#held.set(account, held);
    this.#sum += amount;
    return true;
  }

  give(account: string, amount = 1): void {
    const held = this.#heldBy(account) - amount;
    if (held > 0) this.#held.set(account, held);
    else this.#held.delete(account);
    this.#sum -= amount;
    if (this.#waiting.size > 0) this.#letBegin();
  }

  #letBegin(): void {
    for (const [account, queue] of this.#waiting) {
      if (!this.take(account)) continue;
      queue.shift()?.();
      // What else the account wants comes behind the other accounts.
      this.#waiting.delete(account);
      if (queue.length > 0) this.#waiting.set(account, queue);
      return;
    }
  }

  /** Does the work when it is its turn; fails when that is not before the deadline. */
  async inTurn<T>(account: string, deadline: number, work: () => Promise<T>): Promise<T> {
    // Many may have no more to do than to fail: others are served between.
    if (await this.begin(account, deadline)) await setImmediate();
    return work().finally(() => this.give(account));
  }

  /** Takes one when it is its turn; says whether it had to wait. */
  async begin(account: string, deadline: number): Promise<boolean> {
    if (this.take(account)) return false;
    const { promise, resolve, reject } = Promise.withResolvers<boolean>();
    const queue = keptIn(this.#waiting, account, () => []);
    const begin = () => {
      clearTimeout(timer);
      resolve(true);
    };
    const timer = setTimeout(() => {
      queue.splice(queue.indexOf(begin), 1);
      if (queue.length === 0) this.#waiting.delete(account);
      reject(tookTooLong());
    }, deadline - performance.now());
    queue.push(begin);
    return promise;
  }

  #heldBy = (account: string) => this.#held.get(account) ?? 0;
}
