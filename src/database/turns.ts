import { setTimeout as sleep } from 'node:timers/promises';
import { LockedOut } from './databaseErrors.ts';

/** The writes with one turn: how many run, how many may, and what lets each of the others begin. */
interface Line {
  running: number;
  width: number;
  waiting: (() => void)[];
}
const lines = new Map<string, Line>();
const widthIfShared = 10;

/** The turns of one write. */
export class Turns {
  /** Whether each is shared. */
  readonly #names = new Map<string, boolean>();
  readonly #taken = new Map<string, Line>();
  #claimedInVain = false;

  constructor(names: string[], shared: string[]) {
    this.#add(names, shared);
  }

  async take(end: number): Promise<void> {
    // In one order: two writes that wait for each other would wait until their end.
    for (const name of [...this.#names.keys()].sort()) if (!this.#begin(name)) await this.#wait(name, end);
  }

  /** For a write inside a transaction, where it must not wait: fails when it would have to. */
  claim(names: string[], shared: string[]): void {
    this.#add(names, shared);
    for (const name of [...names, ...shared]) {
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
    for (const [name, line] of this.#taken) if (this.#names.get(name)) line.width = widthIfShared;
  }

  leave(): void {
    for (const [name, line] of this.#taken) {
      line.running--;
      for (; line.running < line.width && line.waiting.length > 0; line.running++) line.waiting.shift()?.();
      if (line.running === 0) lines.delete(name);
    }
    this.#taken.clear();
  }

  #add(names: string[], shared: string[]): void {
    for (const name of names) this.#names.set(name, false);
    for (const name of shared) this.#names.set(name, true);
  }

  #begin(name: string): boolean {
    if (this.#taken.has(name)) return true;
    const width = this.#names.get(name) ? widthIfShared : 1;
    const line = lines.get(name) ?? { running: 0, width, waiting: [] };
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
