import { setTimeout as sleep } from 'node:timers/promises';
import { tookTooLong } from '#src/core/errors.ts';
import type { Connection } from './connection.ts';
import { databaseFailure, isLockedOut, LockedOut } from './databaseErrors.ts';
import { type Lines, Turns } from './turns.ts';

/** What a write needs of its context. */
export interface Writer {
  readonly db: Connection;
  /** The time, by `performance.now()`, after which nobody waits for the result. */
  readonly deadline?: number;
  /** The turns of the transaction that the write is a part of. */
  readonly turns?: Turns;
  /** What is done once the write is committed. */
  readonly afterwards?: (() => void)[];
}

/** Milliseconds that a write waits for others in total, for turns and for locks; before that, as long for its key. */
const patience = 2000;
const maxAttempts = 3;
/** SQLSTATEs of a deadlock and of a serialization failure. */
const lostRaces = ['40P01', '40001'];
const isLostRace = (error: unknown) => lostRaces.includes(databaseFailure(error)?.code ?? '');

/**
 * Does a write of one statement. It waits for its turn, and begins again after a lost race or while another
 * transaction holds a lock. It holds no connection while it waits. Inside a transaction it neither waits nor begins
 * again: the whole transaction does, with the turns that its writes needed.
 */
export async function write<C extends Writer, T>(
  context: C,
  work: (context: C) => Promise<T>,
  lines: Lines = {},
): Promise<T> {
  const { db, deadline = Number.POSITIVE_INFINITY } = context;
  if (db.isTransaction) {
    if (performance.now() > deadline) throw tookTooLong();
    context.turns?.claim(lines);
    return work(context);
  }
  const end = Math.min(deadline, performance.now() + patience);
  const turns = new Turns(lines);
  let races = 0;
  try {
    for (;;) {
      await turns.take(end);
      if (performance.now() > deadline) throw tookTooLong();
      try {
        const afterwards: (() => void)[] = [];
        const result = await work({ ...context, turns, afterwards });
        for (const act of afterwards) act();
        return result;
      } catch (error) {
        // A write around this one begins again after a lost race, and waits for its own turn.
        if (isLostRace(error) && !context.turns && ++races < maxAttempts) continue;
        const isTurnOfOuter = error instanceof LockedOut && !turns.include(error.turn);
        if (!isLockedOut(error) || isTurnOfOuter || performance.now() > end) throw error;
        // Nothing is locked when only a turn was missing.
        if (turns.areTaken()) await pauseBeforeRetry(end);
        turns.leave();
      }
    }
  } finally {
    turns.leave();
  }
}

/** Waits with the turns kept: the next write would meet the same lock. A timer may end a millisecond early. */
const pauseBeforeRetry = (end: number) =>
  sleep(Math.min(100 + Math.random() * 200, Math.max(0, end - performance.now()) + 1));

/** Does a write of several statements: all of them or none. */
export const inTransaction = <C extends Writer, T>(
  context: C,
  work: (inside: C) => Promise<T>,
  lines?: Lines,
): Promise<T> => write(context, outside => outside.db.transaction(db => work({ ...outside, db })), lines);

/** The first statement of a transaction that must not be tried again because of a lock. */
export const waitLongerForLocks = (inside: Connection) =>
  inside.rows(`select set_config('lock_timeout', '${patience}', true)`, []);

/**
 * Runs a transaction that sees what others commit meanwhile, whatever the default isolation is, and that may take
 * longer than any request.
 */
export const inLongTransaction = <T>(db: Connection, work: (inside: Connection) => Promise<T>): Promise<T> =>
  db.transaction(async inside => {
    const level = 'set transaction isolation level read committed';
    await inside.rows(`${level}; set local statement_timeout = 0; set local lock_timeout = 0`, []);
    return work(inside);
  });
