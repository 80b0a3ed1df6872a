import { eq } from '../../../drizzle/orm.ts';
import { webhookEvents } from '../../../drizzle/tables/webhookEvents.ts';
import type { Context } from '../../core/context.ts';
import { orm } from '../../database/connection.ts';
import { parseBody } from '../envelope.ts';

/** An event as a handler sees it. */
export type IncomingEvent = Pick<
  typeof webhookEvents.$inferSelect,
  'id' | 'provider' | 'eventId' | 'type' | 'customer'
>;

/**
 * The effect of one type of event. It runs in the transaction that marks the events processed, so both commit or neither.
 * After a failure it runs again, then for each event alone: it must do only what a rollback undoes.
 */
export interface Handler {
  /** Events without a customer are stored as ignored. */
  readonly needsCustomer: boolean;
  handle(context: Context, events: IncomingEvent[]): Promise<void>;
}

export type Handlers = ReadonlyMap<string, Handler>;

/** The handler of an event, if it has an effect. */
export function handlerFor(handlers: Handlers, { type, customer }: Pick<IncomingEvent, 'type' | 'customer'>) {
  const handler = type === null ? undefined : handlers.get(type);
  return handler?.needsCustomer && customer === null ? undefined : handler;
}

/** The whole event as the provider sent it. */
export async function readPayload({ db }: Context, id: string): Promise<unknown> {
  const { body } = webhookEvents;
  const [row] = await orm(db).select({ body }).from(webhookEvents).where(eq(webhookEvents.id, id));
  return row && parseBody(row.body)?.value;
}
