import { lockedOut } from './errors.ts';

/** Milliseconds: as long as a statement waits for a lock. */
const patience = 2000;

/** The end of the last write of each record that is at work or waits. */
const last = new Map<string, Promise<void>>();

/**
 * Runs the writes of one record one after the other. All at once, they would wait for its lock on every connection, and
 * the writes of strangers would wait for a connection.
 */
export function inTurn<T>(record: string, write: () => Promise<T>): Promise<T> {
  const asked = performance.now();
  const before = last.get(record) ?? Promise.resolve();
  const mine = before.then(() => {
    if (performance.now() - asked > patience) throw lockedOut();
    return write();
  });
  const end = mine
    .then(
      () => {},
      () => {},
    )
    .finally(() => {
      if (last.get(record) === end) last.delete(record);
    });
  last.set(record, end);
  return mine;
}
