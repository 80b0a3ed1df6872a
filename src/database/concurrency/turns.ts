import { lockedOut } from '../../core/errors.ts';
import { isLockedOut } from '../databaseErrors.ts';
import { lockPatience, untilUnlocked, type Writer } from '../transaction.ts';

/** For each record that is being written, the functions that let waiting writes begin. */
const lines = new Map<string, (() => void)[]>();

/**
 * Runs the writes of one record one after the other. All at once, they would wait for its lock on every connection. Inside
 * a transaction there are no turns: others may need its locks.
 */
export async function inTurn<T>({ db }: Writer, record: string, write: () => Promise<T>): Promise<T> {
  if (db.isTransaction) return write();
  const line = lines.get(record);
  if (line) await turnIn(line);
  else lines.set(record, []);
  try {
    return await write();
  } finally {
    const next = lines.get(record)?.shift();
    if (next) next();
    else lines.delete(record);
  }
}

/** The same for writes that do not exclude each other: they take turns only after one of them met a lock. */
export async function inTurnOnceLocked<T>(
  context: Writer,
  record: string,
  write: () => Promise<T>,
): Promise<T> {
  if (context.db.isTransaction || !lines.has(record))
    try {
      return await write();
    } catch (error) {
      if (context.db.isTransaction || !isLockedOut(error)) throw error;
    }
  return inTurn(context, record, () => untilUnlocked(context, write));
}

function turnIn(line: (() => void)[]): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      line.splice(line.indexOf(begin), 1);
      reject(lockedOut());
    }, lockPatience);
    const begin = () => {
      clearTimeout(timer);
      resolve();
    };
    line.push(begin);
  });
}
