/** What a name has used of its window. */
export interface Usage {
  used: number;
  /** Milliseconds until its window ends. */
  endsIn: number;
}

/** Counts by name, in windows that begin with the first count. */
export interface RateLimitStore {
  /** Adds to a count, or reads it with a cost of 0. */
  add(name: string, cost: number): Usage | Promise<Usage>;
  /** How many names are counted in the memory of this process. */
  readonly size: number;
  close(): Promise<void>;
}

/** With fewer, many addresses would push each other out of the count. */
const mostNames = 50_000;

/** Counts in the memory of this process. */
export class MemoryRateLimitStore implements RateLimitStore {
  readonly #window: number;
  /** In the order of their ends, because all windows are equally long. */
  readonly #counts = new Map<string, { used: number; ends: number }>();

  constructor(window: number) {
    this.#window = window;
  }

  add(name: string, cost: number): Usage {
    const time = performance.now();
    let count = this.#counts.get(name);
    if (count === undefined || count.ends <= time) {
      // Deleted first: a name that comes again goes to the end of the order.
      this.#counts.delete(name);
      if (this.#counts.size >= mostNames) this.#counts.delete(this.#counts.keys().next().value as string);
      count = { used: 0, ends: time + this.#window };
      this.#counts.set(name, count);
    }
    count.used += cost;
    return { used: count.used, endsIn: count.ends - time };
  }

  get size(): number {
    return this.#counts.size;
  }

  async close(): Promise<void> {}
}
