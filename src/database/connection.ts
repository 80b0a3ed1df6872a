import { drizzle, type PgRemoteDatabase } from '#drizzle/orm.ts';
import { keptIn } from '#src/core/kept.ts';

/**
 * All that the service asks of a database driver. Each driver has an adapter, and tracing is a wrapper.
 * No other code of the service touches a driver, and none touches the private parts of Drizzle.
 */
export interface Connection {
  /**
   * Runs one statement. Each row is an array of values in the order of the statement. A statement is prepared and kept,
   * unless it `isRare`: then it is planned for its values, and forgotten.
   */
  rows(text: string, params: unknown[], isRare?: boolean): Promise<unknown[][]>;
  /** Does all of the work or nothing. Inside a transaction, the work joins that transaction. */
  transaction<T>(work: (inside: Connection) => Promise<T>): Promise<T>;
  readonly isTransaction: boolean;
}

/**
 * Does the work on the connection of an open transaction. Statements that the work sends after its end fail: the driver
 * would send them on a connection that may be in another transaction by then.
 */
export async function workInside<T>(
  rows: Connection['rows'],
  work: (inside: Connection) => Promise<T>,
): Promise<T> {
  let isOpen = true;
  const connection: Connection = {
    isTransaction: true,
    rows: async (...statement) => {
      if (!isOpen) throw new Error('The transaction has ended.');
      return rows(...statement);
    },
    transaction: work => work(connection),
  };
  try {
    return await work(connection);
  } finally {
    isOpen = false;
  }
}

export type Orm = PgRemoteDatabase;

const kept = new WeakMap<Connection, Orm>();

/** Drizzle on a connection, for statements that run rarely. Hot statements use `statement`. */
export const orm = (connection: Connection): Orm =>
  keptIn(kept, connection, () =>
    drizzle(async (text, params) => ({ rows: await connection.rows(text, params) })),
  );
