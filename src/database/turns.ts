import { setTimeout as sleep } from 'node:timers/promises';
import { LockedOut } from './databaseErrors.ts';

/** The writes with one turn: how many run, how many may, and what lets each of the others begin. */
interface Line {
  running: number;
  width: number;
  waiting: (() => void)[];
}
const lines = new Map<string, Line>();

/**
 * Names of what a write locks, and how many writes of this process with the same name run at once: otherwise each would
 * wait for the lock on a connection of its own, and strangers would wait for the connections.
 */
export type Widths = Record<string, number>;
/** Of those that seldom exclude each other. They run one at a time after one of them met a lock. */
export const several = 10;

/** The turns of one write. */
export class Turns {
  readonly #widths: Widths;
  readonly #taken = new Map<string, Line>();
  #claimedInVain = false;

  constructor(widths: Widths) {
    this.#widths = { ...widths };
  }

  async take(end: number): Promise<void> {
    // In one order: two writes that wait for each other would wait until their end.
    for (const name of Object.keys(this.#widths).sort()) if (!this.#begin(name)) await this.#wait(name, end);
  }

  /** For a write inside a transaction, where it must not wait: fails when it would have to. */
  claim(widths: Widths): void {
    Object.assign(this.#widths, widths);
    for (const name of Object.keys(widths)) {
      this.#claimedInVain = !this.#begin(name);
      if (this.#claimedInVain) throw new LockedOut(name);
    }
  }

  /** After a lock or a claim that was refused: pauses after a lock, then gives the turns to the writes that wait. */
  async release(end: number): Promise<void> {
    const pause = this.#claimedInVain ? 0 : 100 + Math.random() * 200;
    for (const line of this.#taken.values()) if (pause > 0) line.width = 1;
    // A timer may end a millisecond early.
    await sleep(Math.min(pause, Math.max(0, end - performance.now()) + 1));
    this.#claimedInVain = false;
    this.leave();
  }

  metNoLock(): void {
    for (const [name, line] of this.#taken) line.width = this.#widths[name] ?? 1;
  }

  leave(): void {
    for (const [name, line] of this.#taken) {
      line.running--;
      for (; line.running < line.width && line.waiting.length > 0; line.running++) line.waiting.shift()?.();
      if (line.running === 0) lines.delete(name);
    }
    this.#taken.clear();
  }

  #begin(name: string): boolean {
    if (this.#taken.has(name)) return true;
    const line = lines.get(name) ?? { running: 0, width: this.#widths[name] ?? 1, waiting: [] };
    if (line.running >= line.width) return false;
    line.running++;
    lines.set(name, line);
    this.#taken.set(name, line);
    return true;
  }

  async #wait(name: string, end: number): Promise<void> {
    const line = lines.get(name) as Line;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    line.waiting.push(resolve);
    const refuse = () => {
      line.waiting.splice(line.waiting.indexOf(resolve), 1);
      reject(new LockedOut(name));
    };
    const timer = setTimeout(refuse, Math.max(1, end - performance.now()));
    await promise.finally(() => clearTimeout(timer));
    this.#taken.set(name, line);
  }
}
