import { is } from 'drizzle-orm';
import { PgTransaction } from 'drizzle-orm/pg-core';
import type { Orm } from './database.ts';
import { databaseFailure } from './failure.ts';
import { type Gathered, gathering } from './metrics.ts';
import { here, type Within } from './tracing.ts';

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
}

/** One more would only be a smaller one: two keep the server busy while the next is gathered. */
const mostSent = 2;
const mostTogether = 200;

/**
 * Does together what is asked for in one turn of the event loop, or while two statements are under way: 50 reads
 * become one statement, 50 rows one commit. Nobody joins what has been sent, so no answer is older than its question.
 * When the database refuses the statement, each is done alone: the one at fault gets its error, its neighbours what
 * they asked for. Inside a transaction everything is done at once and alone.
 */
export function shared<K, V>(
  what: Gathered['what'],
  work: (db: Orm, keys: K[]) => Promise<V[]>,
): (db: Orm, key: K) => Promise<V> {
  const queues = new WeakMap<Orm, Queue<K, V>>();

  const alone = (db: Orm, { key, resolve, reject }: Waiting<K, V>) =>
    work(db, [key]).then(([value]) => resolve(value as V), reject);

  function schedule(db: Orm, queue: Queue<K, V>): void {
    if (queue.scheduled || queue.sent >= mostSent || queue.waiting.length === 0) return;
    queue.scheduled = true;
    setImmediate(send, db, queue);
  }

  async function send(db: Orm, queue: Queue<K, V>): Promise<void> {
    const group = queue.waiting.splice(0, mostTogether);
    const keys = group.map(({ key }) => key);
    gathering.publish({ what, size: keys.length });
    queue.scheduled = false;
    queue.sent++;
    schedule(db, queue);
    try {
      // In the trace of the first: the others only wait for it.
      const [{ within }] = group as [Waiting<K, V>];
      const values = await within(() => work(db, keys));
      for (let i = 0; i < group.length; i++) group[i]?.resolve(values[i] as V);
    } catch (error) {
      // Without an answer nobody knows what was done, and doing it again could do it twice.
      if (group.length === 1 || !isRefusal(error)) for (const { reject } of group) reject(error);
      else await Promise.all(group.map(waiting => alone(db, waiting)));
    }
    queue.sent--;
    schedule(db, queue);
  }

  return (db, key) =>
    new Promise((resolve, reject) => {
      const waiting = { key, resolve, reject, within: here() };
      if (is(db, PgTransaction)) return void alone(db, waiting);
      const queue = queues.get(db) ?? { waiting: [], sent: 0, scheduled: false };
      if (queue.waiting.push(waiting) === 1) queues.set(db, queue);
      schedule(db, queue);
    });
}

const isRefusal = (error: unknown) => /^(?!08|57P)[0-9A-Z]{5}$/.test(databaseFailure(error)?.code ?? '');
