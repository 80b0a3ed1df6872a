import { lockedOut } from '../core/errors.ts';
import { isLockedOut } from './databaseErrors.ts';
import { untilUnlocked } from './transaction.ts';

/** Milliseconds that a write waits for its turn. */
const patience = 2000;

/** For each record that is being written, the functions that let in those who wait. */
const lines = new Map<string, (() => void)[]>();

/**
 * Runs the writes of one record one after the other. All at once, they would wait for its lock on every connection, and
 * the writes of strangers would wait for a connection.
 */
export async function inTurn<T>(record: string, write: () => Promise<T>): Promise<T> {
  const line = lines.get(record);
  if (line) await myTurn(line);
  else lines.set(record, []);
  try {
    return await write();
  } finally {
    const next = lines.get(record)?.shift();
    if (next) next();
    else lines.delete(record);
  }
}

/** The same for writes that do not exclude each other: they take turns only once one of them has met a lock. */
export async function inTurnOnceLocked<T>(record: string, write: () => Promise<T>): Promise<T> {
  if (!lines.has(record))
    try {
      return await write();
    } catch (error) {
      if (!isLockedOut(error)) throw error;
    }
  return inTurn(record, () => untilUnlocked(write));
}

function myTurn(line: (() => void)[]): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      line.splice(line.indexOf(enter), 1);
      reject(lockedOut());
    }, patience);
    const enter = () => {
      clearTimeout(timer);
      resolve();
    };
    line.push(enter);
  });
}
