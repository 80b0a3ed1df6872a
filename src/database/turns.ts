import { Shares } from '#src/core/shares.ts';
import { LockedOut } from './databaseErrors.ts';

/**
 * Names of what a write locks, and how many writes of this process with the same name may run at once. If more ran,
 * each would wait for the lock on a connection of its own, and unrelated work would wait for the connections.
 */
export type Lines = Record<string, Shares>;

export const oneAtATime = new Shares(1);
/**
 * Writes below one parent seldom exclude each other, but may all wait for one lock. Four is the default size of a pool:
 * with fewer, a write with an idempotency key, which claims turns inside its transaction, would often begin again.
 */
export const fewAtATime = new Shares(4);

/** The turns of one write. */
export class Turns {
  #lines: Lines;
  readonly #taken = new Map<string, Shares>();

  constructor(lines: Lines) {
    this.#lines = lines;
  }

  /** Waits for the turns in a fixed order, so that no two writes wait for each other until both time out. */
  async take(end: number): Promise<void> {
    for (const name of Object.keys(this.#lines).sort()) {
      const line = this.#lines[name] as Shares;
      if (this.#taken.has(name)) continue;
      if (!line.take(name))
        await line.begin(name, end).catch(() => {
          throw new LockedOut(name);
        });
      this.#taken.set(name, line);
    }
  }

  /** Adds the turns of a write inside a transaction, which may not wait: fails when another write has one of them. */
  claim(lines: Lines): void {
    this.#lines = { ...this.#lines, ...lines };
    for (const [name, line] of Object.entries(lines)) {
      if (this.#taken.has(name)) continue;
      if (!line.take(name)) throw new LockedOut(name);
      this.#taken.set(name, line);
    }
  }

  include = (name: string) => Object.hasOwn(this.#lines, name);

  areTaken = () => this.#taken.size === Object.keys(this.#lines).length;

  leave(): void {
    for (const [name, line] of this.#taken) line.give(name);
    this.#taken.clear();
  }
}
