import { type Static, type TSchema, Type } from '@sinclair/typebox';
import { cursorListOf, cursorPaging, period, readOnly, strict, wholeText } from './common.ts';
import { longestCustomer } from './subscription.ts';

/** `received` → `processing`, when done for itself → `processed`, or `failed` and tried again until `dead`. `ignored`: nothing to do. */
export const eventStatuses = ['received', 'processing', 'processed', 'ignored', 'failed', 'dead'] as const;
export type EventStatus = (typeof eventStatuses)[number];
/** The states from which an operator may have an event processed again. */
export const replayable = ['failed', 'dead', 'ignored'] as const;

/** Of an event's id and type so many characters are kept beside the body; an index could not hold any length. */
export const longestShown = 255;

const nullable = (description: string, example: string) =>
  Type.Unsafe<string | null>({ type: ['string', 'null'], description, examples: [example] });
/** `maxLength` is what is stored at most: a filter without it could be longer than a balancer accepts. */
const word = (maxLength: number, description: string, example: string) =>
  Type.String({ maxLength, pattern: wholeText, description, examples: [example] });
const status = Type.Unsafe<EventStatus>({
  type: 'string',
  enum: eventStatuses,
  description: 'How far the event has come.',
  examples: ['processed'],
});

const members = {
  id: readOnly.id,
  provider: word(64, 'Who sent it.', 'stripe'),
  eventId: nullable(
    `The provider's id of the event, at most its first ${longestShown} characters.`,
    'evt_3MtwBwLkdIwHu7ix28a3tqPa',
  ),
  type: nullable(
    `The kind of the event, at most its first ${longestShown} characters.`,
    'payment_intent.succeeded',
  ),
  customer: nullable('The customer it concerns.', 'cus_NffrFeUfNV2Hib'),
  status,
  attempts: Type.Integer({ description: 'How often processing was begun.', examples: [1] }),
  lastError: nullable('What the last attempt failed with.', 'database error 57014'),
  createdAt: { ...readOnly.createdAt, description: 'When the event was received.' },
  updatedAt: readOnly.updatedAt,
  processedAt: Type.Unsafe<string | null>({
    type: ['string', 'null'],
    format: 'date-time',
    description: 'When its effect was committed.',
    examples: ['2026-11-21T09:30:00.000Z'],
  }),
};

export const WebhookEvent = strict(members, {
  $id: 'WebhookEvent',
  description: 'An event that a payment provider has sent and this service has stored.',
});
export type WebhookEvent = Static<typeof WebhookEvent>;

const Failure = strict({
  attempt: Type.Integer({ description: 'Which attempt it was.', examples: [1] }),
  at: Type.String({ format: 'date-time', examples: ['2026-11-21T09:30:00.000Z'] }),
  error: Type.String({ description: 'What it failed with.', examples: ['database error 57014'] }),
});
export type Failure = Static<typeof Failure>;

export const WebhookEventDetail = strict(
  {
    ...members,
    replays: Type.Integer({ description: 'How often an operator had it processed again.', examples: [0] }),
    failures: Type.Array(Failure, { description: 'The attempts that failed, since the last replay.' }),
    body: Type.String({ description: 'The body exactly as it was received.', examples: ['{"id":"evt_1"}'] }),
  },
  { $id: 'WebhookEventDetail', description: 'An event with its body and its failed attempts.' },
);
export type WebhookEventDetail = Static<typeof WebhookEventDetail>;

export const EventPath = strict({
  event_id: Type.String({ description: 'The id of the event.', examples: readOnly.id.examples }),
});

const only = <T extends TSchema>(schema: T, what: string) =>
  Type.Optional({ ...schema, description: `Only events ${what}.` });
const filters = {
  provider: only(members.provider, 'of this provider'),
  type: only(word(longestShown, '', 'payment_intent.succeeded'), 'of this type'),
  customer: only(word(longestCustomer, '', 'cus_NffrFeUfNV2Hib'), 'that concern this customer'),
};

export const EventQuery = strict({
  ...cursorPaging,
  ...filters,
  status: only(status, 'in this state'),
  ...period,
});
export type EventQuery = Static<typeof EventQuery>;

export const ReplayFilter = strict(
  {
    ...filters,
    status: Type.Optional(
      Type.Unsafe<(typeof replayable)[number]>({
        type: 'string',
        enum: replayable,
        description: 'Only events in this state; when absent, the `failed` and the `dead` ones.',
        examples: ['dead'],
      }),
    ),
  },
  { $id: 'ReplayFilter', description: 'Which events to process again.' },
);
export type ReplayFilter = Static<typeof ReplayFilter>;

export const Replayed = strict(
  {
    replayed: Type.Integer({ description: 'How many events are processed again.', examples: [12] }),
    remaining: Type.Integer({ description: 'How many more match. Ask again for those.', examples: [0] }),
  },
  { $id: 'Replayed', description: 'What a replay has started.' },
);
export type Replayed = Static<typeof Replayed>;

export const WebhookEventList = cursorListOf(WebhookEvent, 'WebhookEventList');

/** What the service reads of an event; providers send much more, and all of it is kept. */
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
  { $id: 'ProviderEvent', description: 'An event as the provider sends it.', additionalProperties: true },
);
