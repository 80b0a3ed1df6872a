import { type Static, Type } from '@sinclair/typebox';
import {
  integer,
  limited,
  nullableText,
  nullableTime,
  oneOf,
  readOnly,
  strict,
  string,
} from '#schemas/parts/common.ts';
import { only, several } from '#schemas/parts/filters.ts';
import { logParameters, logSchema } from '#schemas/parts/lists.ts';
import { longestCustomer } from './subscription.ts';

/**
 * A `received` event becomes `processed`, or `failed` with retries until `dead`. An `ignored` event has no effect. A
 * `dismissed` event was put away by an operator.
 */
const eventStatuses = ['received', 'processed', 'ignored', 'failed', 'dead', 'dismissed'] as const;
export type EventStatus = (typeof eventStatuses)[number];
export const replayable = ['failed', 'dead', 'ignored', 'dismissed'] as const;
export const dismissible = ['failed', 'dead'] as const;

/** How many characters of an event's id and type are stored in columns, because of their indexes. */
export const longestShown = 255;
/** The longest id in a filter: no provider has longer ones, and a balancer must buffer a URL with all filters. */
export const longestEventId = 64;

const status = oneOf(eventStatuses, 'The state of its processing.', 'processed');

const members = {
  id: readOnly.id,
  provider: limited(64, 'The provider that sent it; `effects` for an effect of this service.', 'stripe'),
  eventId: nullableText(
    `The provider's id of the event, at most its first ${longestShown} characters; the key of an effect.`,
    'evt_3MtwBwLkdIwHu7ix28a3tqPa',
  ),
  type: nullableText(
    `The type of the event, at most its first ${longestShown} characters; the name of the change that has an effect, such as \`user.create\`.`,
    'payment_intent.succeeded',
  ),
  customer: nullableText('The customer that it is about.', 'cus_NffrFeUfNV2Hib'),
  occurredAt: nullableTime('When it happened, as the provider says; null if the provider does not say.'),
  status,
  reason: nullableText('Why it had no effect.', 'The subscription was already active.'),
  deliveries: integer('How many times the provider delivered it.', 1),
  attempts: integer('How many attempts at its processing were made since the last replay.', 1),
  lastError: nullableText('The error of the last attempt.', 'database error 57014'),
  createdAt: { ...readOnly.createdAt, description: 'When the event was received.' },
  updatedAt: readOnly.updatedAt,
  processedAt: nullableTime('When its effect was committed.'),
};

export const WebhookEvent = strict(members, {
  $id: 'WebhookEvent',
  description: 'An event that a payment provider sent and this service stored, or an effect of a change.',
});
export type WebhookEvent = Static<typeof WebhookEvent>;

const Failure = strict({
  round: integer('How many times it had been replayed before.', 0),
  attempt: integer('The number of the attempt.', 1),
  at: Type.String({ format: 'date-time', examples: readOnly.createdAt.examples }),
  error: string('Its error.', 'database error 57014'),
});
export type Failure = Static<typeof Failure>;

export const WebhookEventDetail = strict(
  {
    ...members,
    replays: integer('How many times an operator replayed it.', 0),
    traceId: nullableText(
      'The id of the trace of its delivery; null if traces are off, and for an effect.',
      '4bf92f3577b34da6a3ce929d0e0e4736',
    ),
    failures: Type.Array(Failure, {
      description: 'The attempts that failed, those of before a replay included.',
    }),
    body: string('The body exactly as it was received; the change that has an effect.', '{"id":"evt_1"}'),
  },
  { $id: 'WebhookEventDetail', description: 'An event with its body and its failed attempts.' },
);
export type WebhookEventDetail = Static<typeof WebhookEventDetail>;

// Filters are no longer than what is stored: a longer one could exceed what a load balancer accepts.
const filters = {
  provider: only(members.provider, 'Only events of this provider.'),
  type: only(limited(longestShown, '', 'payment_intent.succeeded'), 'Only events of this type.'),
  customer: only(limited(longestCustomer, '', 'cus_NffrFeUfNV2Hib'), 'Only events about this customer.'),
};

export const EventQuery = strict({
  ...logParameters,
  ...filters,
  event: only(
    limited(longestEventId, '', 'evt_3MtwBwLkdIwHu7ix28a3tqPa'),
    'Only the event with this id of the provider.',
  ),
  status: only(status, 'Only events in this state.'),
  'status[in]': several(status),
});
export type EventQuery = Static<typeof EventQuery>;

const statusFilter = <T extends EventStatus>(states: readonly T[]) => ({
  ...filters,
  status: Type.Optional(
    oneOf(states, 'Only events in this state; if absent, the `failed` and the `dead` ones.', 'dead' as T),
  ),
  dryRun: Type.Optional(
    Type.Boolean({ description: 'Only count the events that match, as `remaining`.', examples: [false] }),
  ),
});

export const ReplayFilter = strict(statusFilter(replayable), {
  $id: 'ReplayFilter',
  description: 'The events to process again.',
});
export type ReplayFilter = Static<typeof ReplayFilter>;

export const DismissFilter = strict(statusFilter(dismissible), {
  $id: 'DismissFilter',
  description: 'The events to put away.',
});
export type DismissFilter = Static<typeof DismissFilter>;

export const Replayed = strict(
  {
    replayed: integer('How many events will be processed again.', 12),
    remaining: integer('How many more match. Repeat the request for those.', 0),
  },
  { $id: 'Replayed', description: 'The result of a replay.' },
);
export type Replayed = Static<typeof Replayed>;

export const Dismissed = strict(
  {
    dismissed: integer('How many events were put away.', 12),
    remaining: integer('How many more match. Repeat the request for those.', 0),
  },
  { $id: 'Dismissed', description: 'The result of putting events away.' },
);
export type Dismissed = Static<typeof Dismissed>;

export const WebhookEventList = logSchema(WebhookEvent, 'WebhookEventList');

export const Backlog = strict(
  {
    counts: strict({
      received: integer('Those that wait for their first attempt.', 3),
      failed: integer('Those that failed and will be tried again.', 0),
      dead: integer('Those that failed every attempt.', 0),
    }),
    oldestWaitingSeconds: Type.Number({
      description:
        'For how long the event has waited that is due for the longest time, for its first or its next attempt; 0 if none is due.',
      examples: [0.4],
    }),
  },
  { $id: 'Backlog', description: 'How many events are not done, by state.' },
);
export type Backlog = Static<typeof Backlog>;

/** The members that the service reads. Providers send many more, and all of them are stored. */
export const ProviderEvent = Type.Object(
  {
    id: Type.Optional(Type.String({ examples: ['evt_3MtwBwLkdIwHu7ix28a3tqPa'] })),
    type: Type.Optional(Type.String({ examples: ['payment_intent.succeeded'] })),
    data: Type.Optional(
      Type.Object({
        object: Type.Optional(
          Type.Object({ customer: Type.Optional(Type.String({ examples: ['cus_NffrFeUfNV2Hib'] })) }),
        ),
      }),
    ),
  },
  {
    $id: 'ProviderEvent',
    description: 'An event as the provider sends it. Other members are allowed.',
    additionalProperties: true,
  },
);
