import { setTimeout as sleep } from 'node:timers/promises';
import { inChildSpan } from '../telemetry/tracing.ts';
import type { Connection } from './connection.ts';
import { databaseFailure, isLockedOut } from './databaseErrors.ts';

/** First in a transaction that does the work of many callers. It ends with the transaction. */
export const waitLongerForLocks = (inside: Connection) =>
  inside.rows(`select set_config('lock_timeout', '2000', true)`, []);

/** First in a transaction that may take longer than any request. It ends with the transaction. */
export const withoutTimeouts = (inside: Connection) =>
  inside.rows(
    `select set_config(name, '0', true) from unnest(array['statement_timeout', 'lock_timeout']) as name`,
    [],
  );

interface Transactional {
  readonly db: Connection;
}

/**
 * Does work in a transaction: all of it, or nothing. It is tried again after a deadlock or a lost race, and while
 * somebody else holds a lock. Work for several callers is not: each of them alone may not need that lock.
 */
export async function inTransaction<C extends Transactional, T>(
  context: C,
  work: (inside: C) => Promise<T>,
  { forSeveral = false } = {},
): Promise<T> {
  const once = () => transactionOf(context, work);
  return forSeveral || context.db.isTransaction ? once() : untilUnlocked(once);
}

const maxAttempts = 3;
/** Deadlock, serialization failure. */
const lostRaces = ['40P01', '40001'];

async function transactionOf<C extends Transactional, T>(
  context: C,
  work: (inside: C) => Promise<T>,
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await inChildSpan('transaction', {}, () =>
        context.db.transaction(db => work({ ...context, db })),
      );
    } catch (error) {
      const { code = '' } = databaseFailure(error) ?? {};
      if (attempt === maxAttempts || context.db.isTransaction || !lostRaces.includes(code)) throw error;
    }
  }
}

/** Milliseconds that a write waits for a lock. */
const lockPatience = 2000;

/**
 * Repeats a write while somebody else holds a lock that it needs. Most of the time it waits without a connection, so that
 * those who wait for one record do not take all connections from strangers.
 */
export async function untilUnlocked<T>(write: () => Promise<T>): Promise<T> {
  for (const end = performance.now() + lockPatience; ; await sleep(100 + Math.random() * 200))
    try {
      return await write();
    } catch (error) {
      if (!isLockedOut(error) || performance.now() > end) throw error;
    }
}
