import { Shares } from '#src/core/shares.ts';
import { LockedOut } from './databaseErrors.ts';

/**
 * Names of what a write locks, and how many writes of this process with the same name may run at once: otherwise each
 * would wait for the lock on a connection of its own, and strangers would wait for the connections.
 */
export type Lines = Record<string, Shares>;

export const oneAtATime = new Shares(1);
/**
 * Writes below one parent seldom exclude each other, but may all wait for one lock. As many as a pool has connections by
 * default: a write with a key claims its turn inside its transaction, and would often have to begin again.
 */
export const fewAtATime = new Shares(4);

/** The turns of one write. */
export class Turns {
  readonly #lines: Lines;
  readonly #taken = new Map<string, Shares>();

  constructor(lines: Lines) {
    this.#lines = { ...lines };
  }

  /** Waits for all of them in one order: two writes that wait for each other would wait until their end. */
  async take(end: number): Promise<void> {
    for (const name of Object.keys(this.#lines).sort()) {
      const line = this.#lines[name] as Shares;
      if (this.#taken.has(name)) continue;
      await line.begin(name, end).catch(() => {
        throw new LockedOut(name);
      });
      this.#taken.set(name, line);
    }
  }

  /** Adds those of a write inside a transaction, where nobody may wait: fails when another one has the turn. */
  claim(lines: Lines): void {
    Object.assign(this.#lines, lines);
    for (const [name, line] of Object.entries(lines)) {
      if (this.#taken.has(name)) continue;
      if (!line.take(name)) throw new LockedOut(name);
      this.#taken.set(name, line);
    }
  }

  /** Whether none is missing. */
  areTaken = () => this.#taken.size === Object.keys(this.#lines).length;

  leave(): void {
    for (const [name, line] of this.#taken) line.give(name);
    this.#taken.clear();
  }
}
