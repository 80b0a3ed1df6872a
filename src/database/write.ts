import { setTimeout as sleep } from 'node:timers/promises';
import { tookTooLong } from '../core/errors.ts';
import { keptIn } from '../core/keptIn.ts';
import type { Connection } from './connection.ts';
import { databaseFailure, isLockedOut, LockedOut } from './databaseErrors.ts';

/** What a write needs of its context. */
export interface Writer {
  readonly db: Connection;
  /** When nobody waits for the result any more, by `performance.now()`. */
  readonly deadline?: number;
  /** The turns of the transaction that the write is a part of. */
  readonly turns?: Turns;
}

export interface WaitOptions {
  /**
   * Names of what the write locks. Writes of this process with the same name take turns: otherwise each would wait for the
   * lock on a connection of its own, and strangers would wait for the connections.
   */
  turns?: string[];
  /** Whether they seldom exclude each other: then several run at once, until one of them meets a lock. */
  shared?: boolean;
}

/** Milliseconds that a write waits for others in all: for turns and for locks. */
export const patience = 2000;
const maxAttempts = 3;
/** Deadlock, serialization failure. */
const lostRaces = ['40P01', '40001'];
const isLostRace = (error: unknown) => lostRaces.includes(databaseFailure(error)?.code ?? '');

/**
 * Does a write of one statement. It waits for its turn, and begins again after a lost race, and while another transaction
 * holds a lock. It holds no connection while it waits. Inside a transaction it neither waits nor begins again: the whole
 * transaction does, with the turns that its writes needed.
 */
export async function write<C extends Writer, T>(
  context: C,
  work: (context: C) => Promise<T>,
  { turns: names = [], shared = false }: WaitOptions = {},
): Promise<T> {
  const { db, deadline = Number.POSITIVE_INFINITY } = context;
  if (performance.now() > deadline) throw tookTooLong();
  if (db.isTransaction) {
    context.turns?.claim(names, shared);
    return work(context);
  }
  const end = Math.min(deadline, performance.now() + patience);
  const turns = new Turns();
  try {
    await turns.take(names, shared, end);
    for (let attempt = 1; ; attempt++)
      try {
        return await work({ ...context, turns });
      } catch (error) {
        if (attempt < maxAttempts && isLostRace(error)) continue;
        if (!isLockedOut(error) || performance.now() > end) throw error;
        await sleep(100 + Math.random() * 200);
        await turns.take(names, false, end);
      }
  } finally {
    turns.release();
  }
}

/** The same for several statements: all of them or none. */
export const inTransaction = <C extends Writer, T>(
  context: C,
  work: (inside: C) => Promise<T>,
  options?: WaitOptions,
): Promise<T> => write(context, outside => outside.db.transaction(db => work({ ...outside, db })), options);

/** First in a transaction that must not be tried again for a lock. */
export const waitLongerForLocks = (inside: Connection) =>
  inside.rows(`select set_config('lock_timeout', '${patience}', true)`, []);

/** First in a transaction that must see what others committed while it waited for a lock, whatever the default is. */
export const readCommitted = (inside: Connection) =>
  inside.rows('set transaction isolation level read committed', []);

/** First in a transaction that may take longer than any request. */
export const withoutTimeouts = (inside: Connection) =>
  inside.rows(
    `select set_config(name, '0', true) from unnest(array['statement_timeout', 'lock_timeout']) as name`,
    [],
  );

/** The writes with one turn: how many run, how many may, and what lets each of the others begin. */
interface Line {
  running: number;
  width: number;
  waiting: (() => void)[];
}
const lines = new Map<string, Line>();
const widthIfShared = 10;

/** The turns of one write. */
class Turns {
  readonly #claimed = new Set<string>();
  readonly #taken = new Set<string>();

  /** Waits for these turns, and for those that were claimed. */
  async take(names: string[], shared: boolean, end: number): Promise<void> {
    // Releases first, and takes in one order: two writes that wait for each other would wait until their end.
    this.release();
    for (const name of [...new Set([...names, ...this.#claimed])].sort()) {
      if (!this.#begin(name, shared)) await turnIn(name, end);
      this.#taken.add(name);
    }
  }

  /** For a write inside a transaction, where it must not wait: fails when it would have to. */
  claim(names: string[], shared: boolean): void {
    for (const name of names) {
      this.#claimed.add(name);
      if (this.#taken.has(name)) continue;
      if (!this.#begin(name, shared)) throw new LockedOut(name);
      this.#taken.add(name);
    }
  }

  #begin(name: string, shared: boolean): boolean {
    const line = keptIn(lines, name, () => ({ running: 0, width: widthIfShared, waiting: [] }));
    if (!shared) line.width = 1;
    if (line.running >= line.width) return false;
    line.running++;
    return true;
  }

  release(): void {
    for (const name of this.#taken) {
      const line = lines.get(name) as Line;
      const next = line.running <= line.width ? line.waiting.shift() : undefined;
      if (next) next();
      else if (--line.running === 0) lines.delete(name);
    }
    this.#taken.clear();
  }
}

/** Waits until a write that has this turn leaves it to this one. */
async function turnIn(name: string, end: number): Promise<void> {
  const { waiting } = lines.get(name) as Line;
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  waiting.push(resolve);
  const refuse = () => {
    waiting.splice(waiting.indexOf(resolve), 1);
    reject(new LockedOut(name));
  };
  const timer = setTimeout(refuse, Math.max(1, end - performance.now()));
  await promise.finally(() => clearTimeout(timer));
}
