import type { Door } from '../../schemas/audit.ts';
import type { Connection } from '../database/connection.ts';
import { type Actor, system } from './actor.ts';
import type { Log } from './log.ts';
import { noQueue, type Queue } from './queue.ts';

/** What a service function is given besides its input: the one way in which it gets what it needs. */
export interface Context {
  /** A connection, or the transaction that the work belongs to. */
  readonly db: Connection;
  readonly queue: Queue;
  readonly now: () => Date;
  readonly log: Pick<Log, 'debug' | 'info' | 'warn' | 'error'>;
  readonly actor: Actor;
  readonly door: Door;
  /** The request behind all this, if there is one: its address and its id. Read only when they are needed. */
  readonly origin: { readonly ip: string; readonly id: string } | null;
}

type Parts = Pick<Context, 'db' | 'log'> & Partial<Pick<Context, 'queue' | 'now'>>;

/** For work that no request is behind. The name is what the audit log will say. */
export const systemContext = (
  { db, log, queue = noQueue, now = () => new Date() }: Parts,
  name: string,
  door: 'job' | 'command',
): Context => ({ db, queue, now, log, actor: system(name), door, origin: null });
