import { lockedOut } from './errors.ts';

/** Milliseconds: as long as a statement waits for a lock. */
const patience = 2000;

interface Line {
  running: number;
  /** Each is called when it gets the place of a write that has ended. */
  waiting: (() => void)[];
}

/** The records that are written now. */
const lines = new Map<string, Line>();

/**
 * Runs the writes of one record one after the other, or so many at once. All at once, they would wait for its lock on every
 * connection, and the writes of strangers would wait for a connection.
 */
export async function inTurn<T>(record: string, write: () => Promise<T>, atOnce = 1): Promise<T> {
  const line = lines.get(record) ?? { running: 0, waiting: [] };
  lines.set(record, line);
  const asked = performance.now();
  if (line.running < atOnce) line.running++;
  else await new Promise<void>(resolve => line.waiting.push(resolve));
  try {
    if (performance.now() - asked > patience) throw lockedOut();
    return await write();
  } finally {
    const next = line.waiting.shift();
    if (next) next();
    else if (--line.running === 0) lines.delete(record);
  }
}
