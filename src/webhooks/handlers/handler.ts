import type { webhookEvents } from '../../../drizzle/tables/webhookEvents.ts';
import type { Context } from '../../core/context.ts';

/** An event as a handler sees it. `payloadReader` reads the rest. */
export type IncomingEvent = Pick<
  typeof webhookEvents.$inferSelect,
  'id' | 'provider' | 'eventId' | 'type' | 'customer'
>;

/** What the service does with events of one type. */
export interface Handler {
  /** The effect in one sentence, for the OpenAPI document. */
  readonly effect: string;
  /** Events without a customer are stored as ignored. */
  readonly needsCustomer: boolean;
  /**
   * Has the effect of all these events, or throws. It runs in the transaction that marks the events processed, so both
   * commit or neither. After a failure it runs again, then for each event alone: it must do only what a rollback undoes.
   */
  handle(context: Context, events: IncomingEvent[]): Promise<void>;
}

export type Handlers = ReadonlyMap<string, Handler>;

/** The handler of an event, if it has an effect. */
export function handlerFor(handlers: Handlers, { type, customer }: Pick<IncomingEvent, 'type' | 'customer'>) {
  const handler = type === null ? undefined : handlers.get(type);
  return handler?.needsCustomer && customer === null ? undefined : handler;
}
