import type { Connection } from '../database/connection.ts';

/** The work that one event asks for. A job of an earlier round is void: the event was replayed since. */
export interface Job {
  event: string;
  round: number;
  /** The `traceparent` of the request that brought it. */
  trace?: string | undefined;
}

/** Where jobs are added, inside the transaction of the caller: they exist when it commits, and only then. */
export interface Queue {
  /** Settles when jobs can be added. Wait for it outside of transactions: starting needs the database. */
  readonly ready: Promise<void>;
  add(db: Connection, jobs: Job[]): Promise<void>;
}

/** For work that adds no jobs. */
export const noQueue: Queue = {
  ready: Promise.resolve(),
  add: () => Promise.reject(new Error('There is no queue here.')),
};
