import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises';
import { type Context, context } from '@opentelemetry/api';
import type { Connection } from '../database/connection.ts';
import { databaseFailure, isOutage } from '../database/databaseErrors.ts';

interface Waiting<K, V> {
  key: K;
  resolve: (value: V) => void;
  reject: (error: unknown) => void;
  /** Of the trace. */
  context: Context;
}
type Work<K, V> = (db: Connection, keys: K[]) => Promise<V[]>;

export const maxWeight = 200;
/** Milliseconds. After them the next group begins: one that waits for a lock must not hold up others. */
const slowAfter = 100;

/**
 * Does the calls that come while earlier ones are being done in one group: 50 deliveries in one commit. When the
 * database refuses a group, each key is tried for itself.
 */
export function sharedCommits<K, V>(
  work: Work<K, V>,
  weightOf: (key: K) => number,
): (db: Connection, key: K) => Promise<V> {
  /** The calls that wait, of each connection on which a group is being done. */
  const queues = new WeakMap<Connection, Waiting<K, V>[]>();

  async function run(db: Connection, waiting: Waiting<K, V>[]): Promise<void> {
    queues.set(db, waiting);
    while (waiting.length > 0) {
      await turn();
      const group = takeGroup(waiting, weightOf);
      await Promise.race([settle(db, group, work), sleep(slowAfter, undefined, { ref: false })]);
    }
    queues.delete(db);
  }

  return (db, key) =>
    new Promise((resolve, reject) => {
      const call = { key, resolve, reject, context: context.active() };
      const waiting = queues.get(db);
      if (waiting) waiting.push(call);
      else void run(db, [call]);
    });
}

function takeGroup<K, V>(waiting: Waiting<K, V>[], weightOf: (key: K) => number): Waiting<K, V>[] {
  let weight = 0;
  const tooMany = waiting.findIndex(({ key }, i) => {
    weight += weightOf(key);
    return i > 0 && weight > maxWeight;
  });
  return waiting.splice(0, tooMany < 0 ? waiting.length : tooMany);
}

async function settle<K, V>(db: Connection, group: Waiting<K, V>[], work: Work<K, V>): Promise<void> {
  try {
    const keys = group.map(({ key }) => key);
    // In the trace of the first: the others only wait for it.
    const [first] = group as [Waiting<K, V>];
    const values = await context.with(first.context, () => work(db, keys));
    for (let i = 0; i < group.length; i++) group[i]?.resolve(values[i] as V);
  } catch (error) {
    // Without an answer the work may be done, and trying again could do it twice.
    if (group.length === 1 || !isRefusal(error)) return group.forEach(({ reject }) => void reject(error));
    // All at once: one that waits for a lock must not hold up the others.
    await Promise.all(group.map(call => settle(db, [call], work)));
  }
}

/** Whether the server undid the work. A server that is going away says nothing reliable. */
function isRefusal(error: unknown): boolean {
  const failure = databaseFailure(error);
  return failure !== undefined && (!isOutage(error) || /^40/.test(failure.code));
}
