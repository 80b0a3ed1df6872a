import type { Transport } from '#schemas/service/audit.ts';
import type { RecordedChange } from '#schemas/service/change.ts';
import { type Actor, system } from '#src/core/actor.ts';
import type { Writer } from '#src/database/write.ts';
import type { Log } from '#src/telemetry/log.ts';
import type { Budget } from './limits/budget.ts';

/** Everything a service function gets besides its input. */
export interface Context extends Writer {
  readonly now: () => Date;
  readonly log: Pick<Log, 'debug' | 'info' | 'warn' | 'error'>;
  readonly actor: Actor;
  readonly transport: Transport;
  /** The request, if there is one. Its address and id are read only when they are needed. */
  readonly origin: { readonly ip: string; readonly id: string } | null;
  /** What the caller may still use; work without a request has no limit. */
  readonly budget?: Budget;
  /** Keeps the changes that have an effect. It is absent where changes shall have none, as in a command. */
  readonly effects?: Outbox | undefined;
}

/** Where changes with an effect are kept until it runs. */
export interface Outbox {
  /** Whether changes of this name, such as `user.create`, have an effect. */
  has(change: string): boolean;
  /** Keeps those of these changes that have an effect, by their keys. It runs in the transaction of the changes. */
  keep(inside: Context, changes: ReadonlyMap<string, RecordedChange>): Promise<void>;
}

/** The context of work without a request. The audit log shows its name. */
export const systemContext = (
  {
    db,
    log,
    now = () => new Date(),
    effects,
  }: Pick<Context, 'db' | 'log'> & Partial<Pick<Context, 'now' | 'effects'>>,
  name: string,
  transport: 'job' | 'command',
): Context => ({ db, now, log, actor: system(name), transport, origin: null, effects });
