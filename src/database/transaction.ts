import { setTimeout as sleep } from 'node:timers/promises';
import { inChildSpan } from '../telemetry/tracing.ts';
import type { Connection } from './connection.ts';
import { databaseFailure, isLockedOut } from './databaseErrors.ts';

/** Milliseconds that a write waits for a lock, or for its turn. */
export const lockPatience = 2000;

/** First in a transaction that must not be tried again for a lock. */
export const waitLongerForLocks = (inside: Connection) =>
  inside.rows(`select set_config('lock_timeout', '${lockPatience}', true)`, []);

/** First in a transaction that must see what others committed while it waited for a lock, whatever the default is. */
export const readCommitted = (inside: Connection) =>
  inside.rows('set transaction isolation level read committed', []);

/** First in a transaction that may take longer than any request. */
export const withoutTimeouts = (inside: Connection) =>
  inside.rows(
    `select set_config(name, '0', true) from unnest(array['statement_timeout', 'lock_timeout']) as name`,
    [],
  );

/** What a write needs of its context. */
export interface Writer {
  readonly db: Connection;
}

/**
 * Does all of the work or nothing. It is tried again after a deadlock or a lost race, and while another transaction holds
 * a lock. Work for several callers does not wait like that: most of them may not need the lock.
 */
export async function inTransaction<C extends Writer, T>(
  context: C,
  work: (inside: C) => Promise<T>,
  { forSeveral = false } = {},
): Promise<T> {
  const once = () =>
    inChildSpan('transaction', {}, () => context.db.transaction(db => work({ ...context, db })));
  if (context.db.isTransaction) return once();
  const repeated = () => retryLostRaces(once);
  return forSeveral ? repeated() : untilUnlocked(context, repeated);
}

const maxAttempts = 3;
/** Deadlock, serialization failure. */
const lostRaces = ['40P01', '40001'];

async function retryLostRaces<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++)
    try {
      return await work();
    } catch (error) {
      const { code = '' } = databaseFailure(error) ?? {};
      if (attempt === maxAttempts || !lostRaces.includes(code)) throw error;
    }
}

/**
 * Repeats a write that meets a lock. Meanwhile it holds no connection, so that other writes need not wait for one. Inside
 * a transaction it does not: the lock has ended the transaction, and `inTransaction` repeats all of it.
 */
export async function untilUnlocked<T>(
  { db }: Writer,
  write: () => Promise<T>,
  end = performance.now() + lockPatience,
): Promise<T> {
  if (db.isTransaction) return write();
  for (; ; await sleep(100 + Math.random() * 200))
    try {
      return await write();
    } catch (error) {
      if (!isLockedOut(error) || performance.now() > end) throw error;
    }
}
