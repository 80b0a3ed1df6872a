import type { Door } from '../../schemas/audit.ts';
import type { Connection } from '../database/connection.ts';
import { type Actor, system } from './actor.ts';
import type { Log } from './log.ts';

/** The work for one event. A job of an earlier round is void: the event was replayed since. */
export interface Job {
  event: string;
  round: number;
  /** Of the event, in hex: a distributed database finds the event by it. Jobs of releases from before have none. */
  fingerprint: string;
  /** The `traceparent` of the request that brought it. */
  trace?: string | undefined;
  /** The provider's id, for the trace. */
  eventId?: string | null | undefined;
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

/** Everything a service function gets besides its input. */
export interface Context {
  /** A connection, or the transaction that the work belongs to. */
  readonly db: Connection;
  readonly queue: Queue;
  readonly now: () => Date;
  readonly log: Pick<Log, 'debug' | 'info' | 'warn' | 'error'>;
  readonly actor: Actor;
  readonly door: Door;
  /** The request, if there is one. Its address and id are read only when they are needed. */
  readonly origin: { readonly ip: string; readonly id: string } | null;
}

type Parts = Pick<Context, 'db' | 'log'> & Partial<Pick<Context, 'queue' | 'now'>>;

/** For work without a request. The audit log shows the name. */
export const systemContext = (
  { db, log, queue = noQueue, now = () => new Date() }: Parts,
  name: string,
  door: 'job' | 'command',
): Context => ({ db, queue, now, log, actor: system(name), door, origin: null });
