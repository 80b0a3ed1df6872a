import { tookTooLong } from '../core/errors.ts';

/**
 * What each account has under way of something that all share. No account gets more than its share, and those that wait
 * have their turns one account after the other.
 */
export class Shares {
  readonly #each: number;
  readonly #all: number;
  readonly #held = new Map<string, number>();
  readonly #waiting = new Set<{ account: string; begin: () => void }>();
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
    const next = [...this.#waiting].find(each => this.take(each.account));
    if (!next) return;
    // What else the account wants comes behind the other accounts.
    const others = [...this.#waiting].filter(each => each.account === next.account);
    for (const each of others) if (this.#waiting.delete(each) && each !== next) this.#waiting.add(each);
    next.begin();
  }

  /** Does the work when it is its turn; fails when that is not before the deadline. */
  async inTurn<T>(account: string, deadline: number, work: () => Promise<T>): Promise<T> {
    if (!this.take(account)) await this.#wait(account, deadline);
    return work().finally(() => this.give(account));
  }

  #wait(account: string, deadline: number): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const timer = setTimeout(() => {
      this.#waiting.delete(waiting);
      reject(tookTooLong());
    }, deadline - performance.now());
    const begin = () => {
      clearTimeout(timer);
      // Many may have no more to do than to fail: others are served between.
      setImmediate(resolve);
    };
    const waiting = { account, begin };
    this.#waiting.add(waiting);
    return promise;
  }

  #heldBy = (account: string) => this.#held.get(account) ?? 0;
}
