import type { PGlite } from '@electric-sql/pglite';
import type { Connection } from './connection.ts';

/** What processes tell each other: there is work, somebody follows the changes of records, something was written. */
export type Message = 'work' | 'follow' | 'write';

/** Short messages to all processes, this one included. They may get lost, so nobody relies on one. */
export interface Messages {
  send(message: Message): Promise<void>;
  onMessage(expected: Message, work: () => void): void;
}

/** An open database, the same for both backends. */
export interface Database {
  readonly kind: 'embedded' | 'postgres';
  /** For writes and transactions, which may wait for a lock. */
  readonly writes: Connection;
  /** Only for reads, on their own connections: they wait for no lock, and for no write that waits for one. */
  readonly reads: Connection;
  /** One connection for reads that take long, so that the others do not wait for them. */
  readonly dear: Connection;
  /** Whether statements can be sent now: the migrations have run and the server is in reach. */
  readonly available: () => boolean;
  /** Settles when the migrations have run, or when they cannot. */
  readonly ready: Promise<void>;
  /** False while requests get no connection, although the server is in reach. */
  readonly hasConnections: () => boolean;
  /** How busy the connections are. Only a server has several. */
  readonly load?: () => { connections: number; reading: number; writing: number; waiting: number };
  /** Only a server has other processes. */
  readonly messages?: Messages;
  /**
   * Calls `look` after commits of any process, until the function that it returns is called. Calls may get lost;
   * without them, followers look each second.
   */
  readonly follow?: (look: () => void) => () => void;
  /** The embedded Postgres itself, for backups. */
  readonly embedded?: PGlite;
  readonly close: () => Promise<void>;
}
