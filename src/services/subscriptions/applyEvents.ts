import type { webhookEvents } from '../../../drizzle/tables/webhookEvents.ts';
import { type SubscriptionStatus, subscriptionStatuses } from '../../../schemas/subscription.ts';

/** An event, and the status that the subscription of its customer has since then. */
export interface StatusEvent {
  event: Pick<
    typeof webhookEvents.$inferSelect,
    'id' | 'eventId' | 'provider' | 'customer' | 'occurredAt' | 'createdAt'
  >;
  status: SubscriptionStatus;
}

/** The status of a subscription, and since when. */
export interface State {
  status: SubscriptionStatus;
  /** When the latest event with this status happened. */
  statusAt: string;
}

interface Change {
  event: StatusEvent['event'];
  from: SubscriptionStatus | null;
  to: SubscriptionStatus;
}

/** What events make of a subscription. */
export interface Outcome extends State {
  changes: Change[];
  /** Why events had no effect, by their ids. */
  reasons: Map<string, string>;
}

/** When the event happened, or arrived if the provider does not say. */
export const timeOfEvent = ({ occurredAt, createdAt }: StatusEvent['event']) => occurredAt ?? createdAt;

/** A total order: two events of one time and with different statuses must end the same way in any order of arrival. */
const compare = (a: State, b: State) =>
  a.statusAt === b.statusAt
    ? subscriptionStatuses.indexOf(a.status) - subscriptionStatuses.indexOf(b.status)
    : a.statusAt < b.statusAt
      ? -1
      : 1;

/**
 * Applies events in the order in which they happened. The latest one decides, in whatever order and however often they
 * arrive.
 */
export function applyEvents(events: StatusEvent[], before?: State): Outcome {
  const changes: Change[] = [];
  const reasons = new Map<string, string>();
  let now = before;
  const inOrder = events
    .map(({ event, status }) => ({ event, status, statusAt: timeOfEvent(event) }))
    .sort(compare);
  for (const { event, status, statusAt } of inOrder) {
    const isLater = now === undefined || compare({ status, statusAt }, now) > 0;
    if (now?.status === status) reasons.set(event.id, `The subscription was already ${status}.`);
    else if (isLater) changes.push({ event, from: now?.status ?? null, to: status });
    else {
      const which = now?.statusAt === statusAt ? 'An event of the same time' : 'A later event';
      reasons.set(event.id, `${which} had made the subscription ${now?.status}.`);
    }
    if (isLater) now = { status, statusAt };
  }
  return { ...(now as State), changes, reasons };
}
