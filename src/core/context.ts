import type { Door } from '../../schemas/audit.ts';
import type { Orm } from '../database/database.ts';
import { type Actor, system } from './actor.ts';

/** What a service function is given besides its input. Whether `db` is a transaction, it cannot tell. */
export interface Context {
  readonly db: Orm;
  readonly now: () => Date;
  readonly actor: Actor;
  readonly door: Door;
  /** The request behind all this, if there is one: its address and its id. Read only when they are needed. */
  readonly origin: { readonly ip: string; readonly id: string } | null;
}

/** For work that no request is behind. The name is what the audit log will say. */
export const systemContext = (
  db: Orm,
  name: string,
  door: 'job' | 'command',
  now = () => new Date(),
): Context => ({ db, now, actor: system(name), door, origin: null });
