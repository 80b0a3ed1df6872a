import { getTableColumns } from '#drizzle/orm.ts';
import { webhookEvents } from '#drizzle/tables/service/webhookEvents.ts';
import type { Context } from '#src/access/context.ts';
import { effectProvider } from '#src/config/providers.ts';
import type { StatusEvent } from '#src/subscriptions/applyEvents.ts';

const { status, reason, deliveries, lastError, failures, body, updatedAt, processedAt, ...columns } =
  getTableColumns(webhookEvents);

/** The columns of an event that a handler sees. `payloadReader` reads the body. */
export const incomingColumns = columns;
export type IncomingEvent = Pick<typeof webhookEvents.$inferSelect, keyof typeof columns>;

/** What became of events. */
export interface Outcome {
  /**
   * What subscriptions become. The service sets those of all handlers at once, in the order in which the events
   * happened.
   */
  statuses?: StatusEvent[];
  /** Why events had no effect, by their ids. */
  reasons?: ReadonlyMap<string, string>;
}

/** What the service does with events of one type. */
export interface Handler {
  /** The effect in one sentence, for the OpenAPI document. */
  readonly effect: string;
  /** Whether it also gets events that name no customer. */
  readonly withoutCustomer?: true;
  /** Where the body has the status, and the words it can have. Sample events are made from this. */
  readonly status?: { readonly path: string; readonly words: readonly string[] };
  /**
   * Applies the effect of all these events, or throws. It runs in the transaction that marks the events processed, so
   * both commit or neither does. After a failure it runs again for each event alone, so it must do only what a rollback
   * undoes.
   */
  handle(context: Context, events: IncomingEvent[]): Promise<Outcome>;
}

/** The handlers of the types of each preset. */
export type Handlers = ReadonlyMap<string, ReadonlyMap<string, Handler>>;

/** The handler of an event, or why it has no effect. */
export function handlerFor(
  handlers: Handlers,
  { preset, type, customer }: Pick<IncomingEvent, 'preset' | 'type' | 'customer'>,
): Handler | string {
  if (type === null) return 'The event has no type.';
  const handler = handlers.get(preset)?.get(type);
  if (!handler)
    return preset === effectProvider ? 'No effect of this name.' : 'No handler for events of this type.';
  if (customer === null && !handler.withoutCustomer) return 'The event names no usable customer.';
  return handler;
}
