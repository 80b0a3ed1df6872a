import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { batches } from '../../telemetry/metrics.ts';
import type { Connection } from '../connection.ts';

interface Question<V> {
  /** The answer that is being read; no caller joins it any more. */
  running: Promise<unknown>;
  /** The answer that callers can still join. */
  next: Promise<V> | undefined;
  callers: number;
}

/**
 * Gives one answer to equal questions of one turn of the event loop, or of the time while the previous answer is being
 * read. No answer is older than its question. Inside a transaction every call reads for itself.
 */
export function coalesce<Q, V>(
  read: (db: Connection, question: Q) => Promise<V>,
): (db: Connection, question: Q) => Promise<V> {
  const asked = new WeakMap<Connection, Map<string, Question<V>>>();

  return (db, question) => {
    if (db.isTransaction) return read(db, question);
    const questions = asked.get(db) ?? new Map<string, Question<V>>();
    asked.set(db, questions);
    const name = JSON.stringify(question);
    const known = questions.get(name) ?? { running: Promise.resolve(), next: undefined, callers: 0 };
    questions.set(name, known);
    known.callers++;
    known.next ??= answer(
      known,
      () => read(db, question),
      () => questions.delete(name),
    );
    return known.next;
  };
}

/** Milliseconds after which nobody waits for the previous answer any more. */
const slowAfter = 100;

async function answer<V>(question: Question<V>, read: () => Promise<V>, forget: () => void): Promise<V> {
  await Promise.race([question.running.catch(() => {}), sleep(slowAfter, undefined, { ref: false })]);
  await nextTurn();
  batches.publish({ what: 'lists', size: question.callers });
  const reading = read();
  Object.assign(question, { running: reading, next: undefined, callers: 0 });
  try {
    return await reading;
  } finally {
    if (question.next === undefined) forget();
  }
}
