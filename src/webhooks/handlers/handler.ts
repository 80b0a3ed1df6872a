import type { Context } from '../../core/context.ts';

/** An event as a handler sees it. */
export interface EventInHand {
  readonly id: string;
  /** The provider's id of it. */
  readonly eventId: string | null;
  readonly provider: string;
  readonly type: string;
  readonly customer: string | null;
  /** The whole event as the provider sent it. */
  payload(): Promise<unknown>;
}

/**
 * What one type of event does, to one or to several that came together. It runs in the transaction that marks them
 * processed: all of both, or nothing. So it may run again after a failure, then for each event alone, and must leave
 * alone whatever a rollback cannot undo.
 */
export interface Handler {
  /** Without a customer there is nothing to do, and the event is stored as ignored. */
  readonly needsCustomer: boolean;
  handle(context: Context, events: EventInHand[]): Promise<void>;
}

export type Handlers = ReadonlyMap<string, Handler>;
