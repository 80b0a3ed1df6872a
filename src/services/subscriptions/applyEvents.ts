import type { webhookEvents } from '../../../drizzle/tables/webhookEvents.ts';
import {
  type KnownItem,
  mostItems,
  type SubscriptionItem,
  type SubscriptionStatus,
  subscriptionStatuses,
} from '../../../schemas/subscription.ts';

/** What an event says of a subscription of its customer. */
export interface StatusEvent {
  event: Pick<
    typeof webhookEvents.$inferSelect,
    'id' | 'eventId' | 'provider' | 'customer' | 'occurredAt' | 'createdAt'
  >;
  /** Null or absent when the event names none. */
  subscription?: string | null;
  status: SubscriptionStatus;
  /** Undefined when the event does not say. */
  terms?: Pick<SubscriptionItem, 'currentPeriodEnd' | 'cancelAtPeriodEnd'> | undefined;
}

/** What is known of a customer. */
export interface State {
  status: SubscriptionStatus;
  items: KnownItem[];
}

/** An event with an effect. The statuses are those of the customer. */
interface Change {
  event: StatusEvent['event'];
  item: KnownItem;
  from: SubscriptionStatus | null;
  to: SubscriptionStatus;
}

/** What events make of the subscriptions of a customer. */
export interface Outcome extends State {
  changes: Change[];
  /** Whether anything is to be stored: also a later time of the same status, which is no change. */
  isLater: boolean;
  /** Why events had no effect, by their ids. */
  reasons: Map<string, string>;
}

/** When the event happened, or arrived if the provider does not say. */
export const timeOfEvent = ({ occurredAt, createdAt }: StatusEvent['event']) => occurredAt ?? createdAt;

/**
 * Of two events of one second, the later word here counts: providers repeat a failure, but not that it is over, and what has
 * ended stays so.
 */
const withinSecond: SubscriptionStatus[] = [
  ...(['past_due', 'unpaid', 'paused', 'incomplete', 'trialing', 'active'] as const),
  ...(['incomplete_expired', 'canceled'] as const),
];
const hasEnded = ({ status }: KnownItem) => status === 'incomplete_expired' || status === 'canceled';

const compareText = (a: string, b: string) => (a === b ? 0 : a < b ? -1 : 1);
type StatusAt = Pick<KnownItem, 'status' | 'statusAt'>;
const compareStatus = (a: StatusAt, b: StatusAt) =>
  compareText(a.statusAt, b.statusAt) || withinSecond.indexOf(a.status) - withinSecond.indexOf(b.status);
const termsText = ({ termsAt, currentPeriodEnd, cancelAtPeriodEnd }: KnownItem) =>
  [termsAt, currentPeriodEnd, cancelAtPeriodEnd].map(part => part ?? '').join();
/** What must differ for a change. */
const seen = ({ status, currentPeriodEnd, cancelAtPeriodEnd }: KnownItem) =>
  [status, currentPeriodEnd, cancelAtPeriodEnd].join();

/**
 * Applies events to what is known. The result is the same in whatever order, and however often, they arrive: each item has
 * the status, and the terms, of the latest event that says them, in a total order.
 */
export function applyEvents(events: StatusEvent[], before?: State): Outcome {
  const items = new Map(before?.items.map(item => [item.id, item]));
  const changes: Change[] = [];
  const reasons = new Map<string, string>();
  let status = before?.status ?? null;
  let isLater = false;
  const inOrder = events
    .map(({ subscription = null, ...given }) => ({
      ...given,
      subscription,
      statusAt: timeOfEvent(given.event),
    }))
    .sort(compareStatus);
  for (const { event, ...said } of inOrder) {
    const known = items.get(said.subscription);
    if (!known && wasForgotten(items, said.statusAt)) {
      reasons.set(
        event.id,
        `Only ${mostItems} subscriptions of a customer are kept, and this one ended before them.`,
      );
      continue;
    }
    const item = merge(known, said);
    isLater ||= item !== known;
    items.set(item.id, item);
    forgetOldest(items);
    const from = status;
    status = bestOf(items);
    if (!known || seen(known) !== seen(item)) changes.push({ event, item, from, to: status });
    else reasons.set(event.id, reasonOf(known, said));
    if (item.id === null && items.size > 1)
      reasons.set(event.id, 'The event names no subscription, and the customer has some that are named.');
  }
  const all = [...items.values()].sort((a, b) => compareText(a.id ?? '', b.id ?? ''));
  return { status: status as SubscriptionStatus, items: all, changes, isLater, reasons };
}

type Said = Omit<StatusEvent, 'event'> & { subscription: string | null; statusAt: string };

function merge(known: KnownItem | undefined, { subscription, status, statusAt, terms }: Said): KnownItem {
  const unsaid = { currentPeriodEnd: null, cancelAtPeriodEnd: null, termsAt: null };
  const item = known ?? { id: subscription, status, statusAt, ...unsaid };
  const withTerms = { ...item, ...terms, termsAt: statusAt };
  const hasLaterTerms = terms !== undefined && termsText(withTerms) > termsText(item);
  const hasLaterStatus = compareStatus({ status, statusAt }, item) > 0;
  if (!hasLaterTerms && !hasLaterStatus) return item;
  return { ...(hasLaterTerms ? withTerms : item), ...(hasLaterStatus && { status, statusAt }) };
}

function reasonOf(known: KnownItem, { status, statusAt }: Said): string {
  if (known.status === status) return `The subscription was already ${status}.`;
  const which = known.statusAt === statusAt ? 'An event of the same time' : 'A later event';
  return `${which} had made the subscription ${known.status}.`;
}

/** The best status of the items that are named, or that of the one that is not. */
function bestOf(items: ReadonlyMap<string | null, KnownItem>): SubscriptionStatus {
  const named = [...items.values()].filter(({ id }) => id !== null);
  const counting = named.length > 0 ? named : [...items.values()];
  const ranks = counting.map(({ status }) => subscriptionStatuses.indexOf(status));
  return subscriptionStatuses[Math.min(...ranks)] as SubscriptionStatus;
}

/** The oldest that has ended, or else the oldest. */
function oldestOf(items: ReadonlyMap<string | null, KnownItem>): KnownItem | undefined {
  const order = ({ id, statusAt }: KnownItem) => `${statusAt} ${id}`;
  const all = [...items.values()].sort((a, b) => compareText(order(a), order(b)));
  return all.find(hasEnded) ?? all[0];
}

function forgetOldest(items: Map<string | null, KnownItem>): void {
  const oldest = items.size > mostItems ? oldestOf(items) : undefined;
  if (oldest) items.delete(oldest.id);
}

/** Whether a subscription that is not known may have ended and been forgotten: then an older event must not revive it. */
function wasForgotten(items: ReadonlyMap<string | null, KnownItem>, time: string): boolean {
  const oldest = items.size >= mostItems ? oldestOf(items) : undefined;
  return oldest !== undefined && hasEnded(oldest) && time <= oldest.statusAt;
}
