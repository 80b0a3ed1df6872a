import type { Transport } from '#schemas/service/audit.ts';
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
  /** The changes that have an effect, and what calls the workers. Absent where none shall follow, as in a command. */
  readonly effects?: { readonly names: ReadonlySet<string>; readonly call: () => void } | undefined;
}

/** The context of work without a request. The audit log shows its name. */
export const systemContext = (
  parts: Pick<Context, 'db' | 'log' | 'effects'> & Partial<Pick<Context, 'now'>>,
  name: string,
  transport: 'job' | 'command',
): Context => ({ now: () => new Date(), ...parts, actor: system(name), transport, origin: null });
