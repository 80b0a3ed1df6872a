import type { webhookEvents } from '#drizzle/tables/service/webhookEvents.ts';
import {
  type KnownItem,
  mostItems,
  type SubscriptionStatus,
  subscriptionStatuses,
} from '#schemas/service/subscription.ts';

/** What an event says of a subscription of its customer. */
export interface StatusEvent {
  event: Pick<
    typeof webhookEvents.$inferSelect,
    'id' | 'eventId' | 'provider' | 'customer' | 'occurredAt' | 'createdAt'
  >;
  /** Null or absent when the event names none. */
  subscription?: string | null;
  status: SubscriptionStatus;
  /** What the event does not say is absent. */
  terms?: { currentPeriodEnd?: string | undefined; cancelAtPeriodEnd?: boolean | undefined } | undefined;
}

/** What is known of a customer. */
export interface State {
  status: SubscriptionStatus;
  items: KnownItem[];
}

/** When the event happened, or arrived if the provider does not say. */
export const timeOfEvent = ({ occurredAt, createdAt }: StatusEvent['event']) => occurredAt ?? createdAt;

/**
 * When two events have the same time, the status further down here counts: providers repeat a failure, but not that it
 * is over, and a subscription that has ended stays so.
 */
const orderAtSameTime: SubscriptionStatus[] = [
  'past_due',
  'unpaid',
  'paused',
  'incomplete',
  'trialing',
  'active',
  'incomplete_expired',
  'canceled',
];
const hasEnded = ({ status }: KnownItem) => status === 'incomplete_expired' || status === 'canceled';

const compareText = (a: string, b: string) => (a === b ? 0 : a < b ? -1 : 1);
type StatusAt = Pick<KnownItem, 'status' | 'statusAt'>;
const compareStatus = (a: StatusAt, b: StatusAt) =>
  compareText(a.statusAt, b.statusAt) ||
  orderAtSameTime.indexOf(a.status) - orderAtSameTime.indexOf(b.status);
/** An event is a change if it makes one of these values differ. */
const seen = ({ status, currentPeriodEnd, cancelAtPeriodEnd }: KnownItem) =>
  [status, currentPeriodEnd, cancelAtPeriodEnd].join();

/**
 * Applies events to what is known. The result depends neither on the order in which they arrive nor on how often: each
 * item has the status, and the terms, of the latest event that says them, in a total order.
 */
export function applyEvents(events: StatusEvent[], before?: State) {
  const items = new Map(before?.items.map(item => [item.id, item]));
  /** The events with an effect. `from` and `to` are statuses of the customer. */
  const changes: (Pick<StatusEvent, 'event'> & {
    item: KnownItem;
    from: SubscriptionStatus | null;
    to: SubscriptionStatus;
  })[] = [];
  /** Why the other events had no effect, by their ids. */
  const reasons = new Map<string, string>();
  let status = before?.status ?? null;
  /** Whether anything must be stored: even a later time of the same status, although it is no change. */
  let isMoved = false;
  const inOrder = events
    .map(({ subscription = null, ...said }) => ({
      ...said,
      subscription,
      statusAt: timeOfEvent(said.event),
    }))
    .sort(compareStatus);
  for (const { event, ...said } of inOrder) {
    const known = items.get(said.subscription);
    const item = merge(known, said);
    isMoved ||= item !== known;
    items.set(item.id, item);
    forgetOne(items);
    const from = status;
    status = bestStatus(items);
    if (!items.has(item.id)) reasons.set(event.id, `Only ${mostItems} subscriptions of a customer are kept.`);
    else if (!known || seen(known) !== seen(item)) changes.push({ event, item, from, to: status });
    else reasons.set(event.id, whySuperseded(known, said));
    if (item.id === null && items.size > 1)
      reasons.set(event.id, 'The event names no subscription, and the customer has some that are named.');
  }
  const all = [...items.values()].sort((a, b) => compareText(a.id ?? '', b.id ?? ''));
  return { status: status as SubscriptionStatus, items: all, changes, isMoved, reasons };
}

type Said = Omit<StatusEvent, 'event'> & { subscription: string | null; statusAt: string };

/** Returns the known item with what is newer in the event; the same object if nothing is. */
function merge(known: KnownItem | undefined, { subscription, statusAt, ...said }: Said): KnownItem {
  const unsaid = { currentPeriodEnd: null, periodAt: null, cancelAtPeriodEnd: null, cancelAt: null };
  const item = known ?? { id: subscription, status: said.status, statusAt, ...unsaid };
  const { currentPeriodEnd, cancelAtPeriodEnd } = said.terms ?? {};
  const isNewer = (value: unknown, before: unknown, at: string | null) =>
    value !== undefined && `${statusAt} ${value}` > `${at ?? ''} ${before}`;
  const later = {
    ...(compareStatus({ status: said.status, statusAt }, item) > 0 && { status: said.status, statusAt }),
    ...(isNewer(currentPeriodEnd, item.currentPeriodEnd, item.periodAt) && {
      currentPeriodEnd: currentPeriodEnd ?? null,
      periodAt: statusAt,
    }),
    ...(isNewer(cancelAtPeriodEnd, item.cancelAtPeriodEnd, item.cancelAt) && {
      cancelAtPeriodEnd: cancelAtPeriodEnd ?? null,
      cancelAt: statusAt,
    }),
  };
  return Object.keys(later).length > 0 ? { ...item, ...later } : item;
}

function whySuperseded(known: KnownItem, { status, statusAt }: Said): string {
  if (known.status === status) return `The subscription was already ${status}.`;
  const which = known.statusAt === statusAt ? 'An event of the same time' : 'A later event';
  return `${which} had made the subscription ${known.status}.`;
}

/** The best status of the items that have an id, or else the status of the item without one. */
function bestStatus(items: ReadonlyMap<string | null, KnownItem>): SubscriptionStatus {
  const named = [...items.values()].filter(({ id }) => id !== null);
  const counting = named.length > 0 ? named : [...items.values()];
  const ranks = counting.map(({ status }) => subscriptionStatuses.indexOf(status));
  return subscriptionStatuses[Math.min(...ranks)] as SubscriptionStatus;
}

/** Deletes one of too many items: the oldest that has ended, or else the oldest of those in the worst state. */
function forgetOne(items: Map<string | null, KnownItem>): void {
  if (items.size <= mostItems) return;
  const rank = (item: KnownItem) =>
    hasEnded(item) ? subscriptionStatuses.length : subscriptionStatuses.indexOf(item.status);
  const inOrder = [...items.values()].sort(
    (a, b) => rank(b) - rank(a) || compareText(a.statusAt, b.statusAt) || compareText(a.id ?? '', b.id ?? ''),
  );
  items.delete((inOrder[0] as KnownItem).id);
}
