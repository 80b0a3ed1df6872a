import { tookTooLong } from '../core/errors.ts';

/**
 * What each name has under way of something that all share: an account, an address or a socket. None of them gets more
 * than its share, and who waits gets a turn after the other names.
 */
export class Shares<Name = string> {
  readonly #each: number;
  readonly #all: number;
  readonly #held = new Map<Name, number>();
  readonly #waiting = new Map<Name, Set<() => void>>();
  #sum = 0;

  constructor(each: number, all = Number.POSITIVE_INFINITY) {
    this.#each = each;
    this.#all = all;
  }

  /** Takes one now, and says whether there was one. */
  take(name: Name): boolean {
    const held = this.#held.get(name) ?? 0;
    if (held >= this.#each || this.#sum >= this.#all) return false;
    this.#held.set(name, held + 1);
    this.#sum++;
    return true;
  }

  /** Gives back what `take` took, and lets somebody begin who waits. */
  give(name: Name): void {
    const held = (this.#held.get(name) ?? 0) - 1;
    if (held > 0) this.#held.set(name, held);
    else this.#held.delete(name);
    this.#sum--;
    for (const [next, waiting] of this.#waiting) {
      if (!this.take(next)) continue;
      const [begin] = waiting;
      this.#waiting.delete(next);
      // Behind the others.
      if (begin && waiting.delete(begin) && waiting.size > 0) this.#waiting.set(next, waiting);
      begin?.();
      return;
    }
  }

  /** Does the work when it is its turn; fails when that is not before the deadline. */
  async inTurn<T>(name: Name, deadline: number, work: () => Promise<T>): Promise<T> {
    if (!this.take(name)) await this.#wait(name, deadline);
    try {
      return await work();
    } finally {
      this.give(name);
    }
  }

  async #wait(name: Name, deadline: number): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const waiting = this.#waiting.get(name) ?? new Set();
    this.#waiting.set(name, waiting.add(resolve));
    const refuse = () => {
      if (waiting.delete(resolve) && waiting.size === 0) this.#waiting.delete(name);
      reject(tookTooLong());
    };
    // A timer takes no infinite time.
    const timer = setTimeout(refuse, Math.min(Math.max(0, deadline - performance.now()), 3_600_000));
    await promise.finally(() => clearTimeout(timer));
  }
}
