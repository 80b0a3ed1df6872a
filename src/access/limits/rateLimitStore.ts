import { setBounded } from '#src/core/kept.ts';

/** What has been used in the current window. */
export interface Usage {
  used: number;
  /** Milliseconds until the window ends. */
  endsIn: number;
}

/** Counts by name, in windows that begin with the first request. */
export interface RateLimitStore {
  /** Adds to a count; a cost of 0 only reads it. */
  add(name: string, cost: number): Usage | Promise<Usage>;
  /** How many counts are in the memory of this process. */
  size(): number;
  close(): Promise<void>;
}

/** How many counts are kept. With fewer, many addresses would evict each other and escape their limits. */
const maxNames = 50_000;

/** Counts in the memory of this process. */
export function openMemoryStore(window: number) {
  const counts = new Map<string, { used: number; endsAt: number }>();
  return {
    add(name: string, cost: number): Usage {
      // Whole milliseconds: with the rounding errors of fractions, RateLimit-Reset would be 61 in a window of 60.
      const time = Math.floor(performance.now());
      let count = counts.get(name);
      if (count === undefined || count.endsAt <= time) {
        count = { used: 0, endsAt: time + window };
        setBounded(counts, name, count, maxNames);
      }
      // Points that are given back may have been counted in the window before.
      count.used = Math.max(0, count.used + cost);
      return { used: count.used, endsIn: count.endsAt - time };
    },
    size: () => counts.size,
    close: async () => {},
  };
}
