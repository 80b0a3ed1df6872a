import type { PGlite } from '@electric-sql/pglite';
import type { Connection } from './connection.ts';

/** What processes tell each other: workers have work, somebody follows the changes of records, something was written. */
export type Message = 'events' | 'effects' | 'follow' | 'write';

/** Short messages to all processes, this one included. They may get lost, so nobody relies on one. */
export interface Messages {
  send(message: Message): Promise<void>;
  onMessage(expected: Message, work: () => void): void;
}

/** An open database, the same for both backends. */
export interface Database {
  readonly kind: 'embedded' | 'postgres';
  /** Connections for writes and transactions, which may wait for a lock. */
  readonly writes: Connection;
  /** The same connections, for what changes no record: its commits are not announced to followers. */
  readonly upkeep: Connection;
  /** Separate connections for reads, which wait for no lock and never behind a write that waits for one. */
  readonly reads: Connection;
  /** One connection for slow reads, so that other reads do not wait for them. */
  readonly costly: Connection;
  /** Whether statements can be sent now: the migrations have run and the server answers. */
  readonly available: () => boolean;
  /** Settles when the migrations have run, or when they cannot. */
  readonly ready: Promise<void>;
  /** False while requests get no connection, although the server answers. */
  readonly hasConnections: () => boolean;
  /** How busy the connections are; undefined for the embedded database, which has one. */
  readonly load?: () => { connections: number; reading: number; writing: number; waiting: number };
  /** Messages between processes. The embedded database has none of its own, because only one process uses it. */
  readonly messages?: Messages;
  /**
   * Calls `look` after commits of any process until the returned function is called. Calls may get lost, so followers
   * also look every second.
   */
  readonly follow?: (look: () => void) => () => void;
  /** The embedded Postgres itself, for backups. */
  readonly embedded?: PGlite;
  readonly close: () => Promise<void>;
}
