import { type TSchema, Type } from '@sinclair/typebox';
import { oneOf } from '#schemas/parts/common.ts';
import type { SubscriptionStatus } from '#schemas/service/subscription.ts';
import type { Source } from '#src/config/presets.ts';
import type { StatusEvent } from '#src/subscriptions/applyEvents.ts';
import { asReference, asTime, member, shown, sourceReader } from './envelope.ts';
import type { Handler } from './handler.ts';
import { payloadReader } from './payloads.ts';

/** Where the body of an event names a subscription, and says what was agreed. */
export interface SubscriptionSources {
  id: Source;
  currentPeriodEnd?: Source;
  cancelAtPeriodEnd?: Source;
  /** What each value of `cancelAtPeriodEnd` that is neither true nor false means. */
  cancelWords?: Readonly<Record<string, boolean>>;
}

/** Handles events that mean this status, whatever their body says, for the subscription that it names, if any. */
export function becomes(status: SubscriptionStatus, sources?: SubscriptionSources): Handler {
  const effect = `The customer's subscription becomes \`${status}\`.`;
  return {
    effect,
    handle: sources
      ? readingHandler(Type.Unknown(), () => status, sources)
      : async (_, events) => ({ statuses: events.map(event => ({ event, status })) }),
  };
}

/** Handles events with the whole subscription. Its status is at this path, in these words of the provider. */
export function becomesAsSaid(
  path: string,
  words: Record<string, SubscriptionStatus>,
  sources: SubscriptionSources,
): Handler {
  const names = path.split('.');
  const word: TSchema = oneOf(Object.keys(words), 'The status of the subscription.');
  const schema = names.reduceRight((inner, name) => Type.Object({ [name]: inner }), word);
  const readStatus = (payload: unknown) => words[String(names.reduce(member, payload))] as SubscriptionStatus;
  return {
    effect: `The customer's subscription becomes what \`${path}\` says.`,
    status: { path, words: Object.keys(words) },
    handle: readingHandler(schema, readStatus, sources),
  };
}

function readingHandler(
  schema: TSchema,
  statusOf: (payload: unknown) => SubscriptionStatus,
  sources: SubscriptionSources,
): Handler['handle'] {
  const readPayloads = payloadReader(schema);
  return async (context, events) => {
    const statuses: StatusEvent[] = [];
    for await (const { event, payload } of readPayloads(context, events))
      statuses.push({ event, status: statusOf(payload), ...readSubscription(sources, payload) });
    return { statuses };
  };
}

function readSubscription(sources: SubscriptionSources, payload: unknown) {
  const read = sourceReader({}, payload);
  const words = new Map(Object.entries({ true: true, false: false, ...sources.cancelWords }));
  const asCancellation = (value: unknown) =>
    value === null || ['boolean', 'string'].includes(typeof value) ? words.get(String(value)) : undefined;
  const terms = {
    currentPeriodEnd: read(sources.currentPeriodEnd, value => asTime(value, latestDate)),
    cancelAtPeriodEnd: read(sources.cancelAtPeriodEnd, asCancellation),
  };
  return { subscription: shown(read(sources.id, asReference)), terms };
}

/** Later dates have no form in RFC 3339. */
const latestDate = Date.UTC(9999, 11, 31);
