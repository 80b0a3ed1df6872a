import { randomInt } from 'node:crypto';

/** The seed of random tests. They print it when they fail, and TEST_SEED repeats it. */
export const seed = Number(process.env.TEST_SEED ?? randomInt(2 ** 31));

/** Returns a function that draws numbers from 0 to 1, the same ones for the same seed (mulberry32). */
export function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Draws numbers by the seed of this run. */
export const random = randomFrom(seed);
export const below = (limit: number) => Math.floor(random() * limit);
export const any = <T>(list: readonly T[]) => list[below(list.length)] as T;

/** Returns the items in a random order. */
export const shuffle = <T>(items: T[], random: () => number): T[] =>
  items
    .map(item => [random(), item] as const)
    .sort(([a], [b]) => a - b)
    .map(([, item]) => item);
