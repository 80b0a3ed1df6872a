import { is } from 'drizzle-orm';
import { PgTransaction } from 'drizzle-orm/pg-core';
import { type Gathered, gathering } from '../telemetry/metrics.ts';
import { here, type Within } from '../telemetry/tracing.ts';
import type { Orm } from './database.ts';
import { databaseFailure, isLockedOut, isOutage } from './databaseErrors.ts';

interface Waiting<K, V> {
  key: K;
  resolve: (value: V) => void;
  reject: (error: unknown) => void;
  within: Within;
}
interface Queue<K, V> {
  waiting: Waiting<K, V>[];
  /** How many statements are under way. */
  sent: number;
  scheduled: boolean;
  /** Called when nobody waits any more. */
  end: () => void;
}

export const mostTogether = 200;
/** Milliseconds after which a group no longer counts as under way. */
const slowAfter = 100;

interface Manner<K> {
  /** For how many a key counts, of the 200 that go together at most. */
  weightOf?: (key: K) => number;
  /** How many groups are under way at most: the fewer, the larger they are. */
  sent?: number;
  /** What is asked for, as a text. Only those who ask for the same go together; one answer or failure is for all of them. */
  question?: (key: K) => string;
}

/**
 * Does together what is asked for in one turn of the event loop, or while earlier groups are under way: 50 reads
 * become one statement, 50 rows one commit. Nobody joins what has been sent, so no answer is older than its question.
 * When the database refuses a group, its halves are tried: one at fault gets its error, its neighbours what they asked
 * for. Inside a transaction everything is done at once and alone.
 */
export function shared<K, V>(
  what: Gathered['what'],
  work: (db: Orm, keys: K[]) => Promise<V[]>,
  // Two keep the server busy while the next one is gathered.
  { weightOf = () => 1, sent = 2, question }: Manner<K> = {},
): (db: Orm, key: K) => Promise<V> {
  const queues = new WeakMap<Orm, Map<string, Queue<K, V>>>();

  function queueOf(db: Orm, key: K): Queue<K, V> {
    const name = question?.(key) ?? '';
    const named = queues.get(db) ?? new Map<string, Queue<K, V>>();
    if (named.size === 0) queues.set(db, named);
    const queue = named.get(name) ?? {
      waiting: [],
      sent: 0,
      scheduled: false,
      end: () => named.delete(name),
    };
    named.set(name, queue);
    return queue;
  }

  function schedule(db: Orm, queue: Queue<K, V>): void {
    if (queue.waiting.length === 0 && queue.sent === 0) queue.end();
    if (queue.scheduled || queue.sent >= sent || queue.waiting.length === 0) return;
    queue.scheduled = true;
    setImmediate(send, db, queue);
  }

  async function send(db: Orm, queue: Queue<K, V>): Promise<void> {
    const group = takeGroup(queue.waiting);
    gathering.publish({ what, size: group.length });
    queue.scheduled = false;
    queue.sent++;
    schedule(db, queue);
    let isCounted = true;
    const makeRoom = () => {
      if (!isCounted) return;
      isCounted = false;
      queue.sent--;
      schedule(db, queue);
    };
    // One that waits for a lock shall not hold up all others.
    const slow = setTimeout(makeRoom, slowAfter);
    await settle(db, group);
    clearTimeout(slow);
    makeRoom();
  }

  function takeGroup(waiting: Waiting<K, V>[]): Waiting<K, V>[] {
    let weight = 0;
    const tooMany = waiting.findIndex(({ key }, i) => {
      weight += weightOf(key);
      return i > 0 && weight > mostTogether;
    });
    return waiting.splice(0, tooMany < 0 ? waiting.length : tooMany);
  }

  async function settle(db: Orm, group: Waiting<K, V>[]): Promise<void> {
    try {
      const keys = group.map(({ key }) => key);
      // In the trace of the first: the others only wait for it.
      const [{ within }] = group as [Waiting<K, V>];
      const values = await within(() => work(db, keys));
      for (let i = 0; i < group.length; i++) group[i]?.resolve(values[i] as V);
    } catch (error) {
      // Without an answer nobody knows what was done, and doing it again could do it twice.
      if (group.length === 1 || question || !isRefusal(error))
        return group.forEach(({ reject }) => void reject(error));
      // To wait for the same lock once for each half would take long; alone, only who needs it waits.
      if (isLockedOut(error)) return void (await Promise.all(group.map(one => settle(db, [one]))));
      const middle = group.length >> 1;
      await settle(db, group.slice(0, middle));
      await settle(db, group.slice(middle));
    }
  }

  return (db, key) =>
    new Promise((resolve, reject) => {
      const waiting = { key, resolve, reject, within: here() };
      if (is(db, PgTransaction)) return void settle(db, [waiting]);
      const queue = queueOf(db, key);
      queue.waiting.push(waiting);
      schedule(db, queue);
    });
}

/** The server has said no and undone what it was asked for. One that is going away says nothing reliable. */
function isRefusal(error: unknown): boolean {
  const failure = databaseFailure(error);
  return failure !== undefined && (!isOutage(failure) || /^40/.test(failure.code));
}
