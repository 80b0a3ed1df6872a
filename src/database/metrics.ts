import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from './database.ts';

/** Milliseconds. */
const [timeout, lifetime] = [1000, 2000];

/**
 * A function that reads what several metrics need, once for all metrics of a collection. Without an answer there is no value,
 * rather than an old one or a long wait.
 */
export function readForMetrics<T>(database: Database, read: () => Promise<T>): () => Promise<T | undefined> {
  let kept: { time: number; value: Promise<T | undefined> } | undefined;
  return async () => {
    if (!database.available()) return undefined;
    if (!kept || performance.now() - kept.time > lifetime)
      kept = { time: performance.now(), value: read().catch(() => undefined) };
    return Promise.race([kept.value, sleep(timeout, undefined, { ref: false })]);
  };
}
