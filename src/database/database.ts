import { setTimeout as sleep } from 'node:timers/promises';
import { is, sql } from 'drizzle-orm';
import { type PgDatabase, type PgQueryResultHKT, PgTransaction } from 'drizzle-orm/pg-core';
import { tracedInside } from '../telemetry/tracing.ts';
import { databaseFailure, isLockedOut } from './databaseErrors.ts';
import { mapRows } from './rowMapper.ts';

/** Either driver, and a transaction of either: they speak alike. */
export type Orm = PgDatabase<PgQueryResultHKT, Record<string, never>>;

/** An open database. Both backends give one; nobody else needs to know which it is. */
export interface Database {
  readonly kind: 'embedded' | 'postgres';
  /** For writes and transactions, which may wait for a lock. */
  readonly orm: Orm;
  /** For reads alone, on connections of their own: they wait for no lock, and for no write that does. */
  readonly reads: Orm;
  /** Whether statements can be sent now: the migrations have run and the server is in reach. */
  readonly available: () => boolean;
  /** Settles when the migrations have run, or when they never will. */
  readonly ready: Promise<void>;
  /** Asks the server for a sign of life. */
  readonly ping: () => Promise<void>;
  /** Whether connections get free: false while a statement waits for one in vain. */
  readonly hasConnections: () => boolean;
  /** How busy the connections are; the embedded database has none. */
  readonly load?: () => { connections: number; reading: number; writing: number; waiting: number };
  readonly close: () => Promise<void>;
}

/** First in a transaction that does the work of many. It ends with the transaction. */
export const patientWithLocks = sql`select set_config('lock_timeout', '2000', true)`;

/** First in a transaction that may take longer than any request. It ends with the transaction. */
export const withoutTimeouts = sql`select set_config(name, '0', true) from unnest(array['statement_timeout', 'lock_timeout']) as name`;

/**
 * Does work in a transaction: all of it, or nothing. A deadlock or a lost race is tried again, and so is one that met a
 * lock; work for several callers fails at once instead, because each of them alone may not need that lock.
 */
export async function inTransaction<C extends { readonly db: Orm }, T>(
  context: C,
  work: (inside: C) => Promise<T>,
  { forSeveral = false } = {},
): Promise<T> {
  const once = () => transactionOf(context, work);
  return forSeveral || is(context.db, PgTransaction) ? once() : untilUnlocked(once);
}

async function transactionOf<C extends { readonly db: Orm }, T>(
  context: C,
  work: (inside: C) => Promise<T>,
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await tracedInside('transaction', {}, () =>
        context.db.transaction(tx => work({ ...context, db: tx as Orm })),
      );
    } catch (error) {
      const { code } = databaseFailure(error) ?? {};
      if (attempt === 3 || (code !== deadlock && code !== serializationFailure)) throw error;
    }
  }
}

/** Milliseconds that a write waits for a lock. */
const lockPatience = 2000;

/**
 * Does a write again while somebody else holds a lock that it needs. Each time it waits on its connection only for
 * `lock_timeout`, and most of the time without one: so those who wait do not take all connections from strangers.
 */
export async function untilUnlocked<T>(write: () => Promise<T>): Promise<T> {
  for (const end = performance.now() + lockPatience; ; await sleep(100 + Math.random() * 200))
    try {
      return await write();
    } catch (error) {
      if (!isLockedOut(error) || performance.now() > end) throw error;
    }
}
const deadlock = '40P01';
const serializationFailure = '40001';

interface Preparable<S> {
  prepare(name: string): S;
}

/** What Drizzle's databases have inside. */
interface Session {
  /** The connection it speaks through. */
  client: unknown;
  prepareQuery(
    query: { sql: string; params: unknown[] },
    fields: undefined,
    name: string,
    inArrays: false,
  ): {
    execute(): Promise<unknown[] | { rows: unknown[] }>;
  };
}
const sessionOf = (db: Orm) => (db as unknown as { session: Session }).session;

/** Runs a statement that somebody else has written, always the same text, and so prepared. */
export async function runPrepared(db: Orm, text: string, params: unknown[]): Promise<unknown[]> {
  const result = await sessionOf(db).prepareQuery({ sql: text, params }, undefined, 'given', false).execute();
  return Array.isArray(result) ? result : result.rows;
}

/**
 * A statement that is built once for each shape it can take, and prepared: the builder costs five times what the statement
 * costs, and the driver sends what has no name unprepared. A transaction is a session of its own: there the statement that the
 * first one built gets another connection, and is not built again.
 */
export function prepared<S extends object, Shape extends string = 'only'>(
  name: string,
  build: (db: Orm, shape: Shape) => Preparable<S>,
): (db: Orm, shape: Shape) => S {
  const kept = new WeakMap<Orm, Map<Shape, S>>();
  const inTransactions = new Map<string, S>();

  const make = (db: Orm, shape: Shape) => mapRows(build(db, shape).prepare(`${name} ${shape}`));
  function makeInside(transaction: Orm, shape: Shape): S {
    const session = sessionOf(transaction);
    const key = `${session.constructor.name} ${shape}`;
    const first = inTransactions.get(key) ?? make(transaction, shape);
    inTransactions.set(key, first);
    return Object.assign(Object.create(Object.getPrototypeOf(first)), first, { client: session.client });
  }

  return (db, shape) => {
    const shapes = kept.get(db) ?? new Map<Shape, S>();
    if (shapes.size === 0) kept.set(db, shapes);
    let statement = shapes.get(shape);
    if (statement === undefined) {
      statement = is(db, PgTransaction) ? makeInside(db, shape) : make(db, shape);
      shapes.set(shape, statement);
    }
    return statement;
  };
}
