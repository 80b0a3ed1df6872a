import { type Static, Type } from '@sinclair/typebox';
import { cursorListOf, cursorPaging, Id, period, readOnly, strict, Time, text } from './common.ts';
import { longestCustomer } from './subscription.ts';

export const auditActions = [
  'user.create',
  'user.change',
  'user.delete',
  'post.create',
  'post.change',
  'post.delete',
  'key.create',
  'key.revoke',
  'subscription.change',
  'event.replay',
] as const;
export type AuditAction = (typeof auditActions)[number];
export const actorKinds = ['anyone', 'key', 'token', 'system'] as const;
export const doors = ['rest', 'graphql', 'webhook', 'job', 'command'] as const;
export type Door = (typeof doors)[number];

const oneOf = <T extends string>(values: readonly T[], description: string) =>
  Type.Unsafe<T>({ type: 'string', enum: values, description, examples: [values[0]] });
const orNull = (description: string, example: string) =>
  Type.Unsafe<string | null>({ type: ['string', 'null'], description, examples: [example] });

const action = oneOf(auditActions, 'What was done.');
const recordId = Type.String({
  description: 'The id of the record; of a subscription `<provider>:<customer>`.',
  examples: Id.examples,
});

const StateChange = strict({
  event: Type.String({
    description: 'The id of the webhook event that changed the state.',
    examples: Id.examples,
  }),
  eventId: orNull("The provider's id of that event.", 'evt_3MtwBwLkdIwHu7ix28a3tqPa'),
  from: orNull('The state before; null when there was no subscription.', 'past_due'),
  to: Type.String({ description: 'The state after.', examples: ['active'] }),
});
type StateChange = Static<typeof StateChange>;
const stateChange = Type.Unsafe<StateChange | null>({
  ...StateChange,
  type: ['object', 'null'],
  description: 'Of `subscription.change`: the event, and the states before and after. Otherwise null.',
});

export const AuditEntry = strict(
  {
    id: readOnly.id,
    createdAt: Time('When it was done.'),
    action,
    recordId,
    changed: Type.Array(Type.String(), {
      description: 'The names of the members that a change wrote. Their values are not kept here.',
      examples: [['name']],
    }),
    actorKind: oneOf(actorKinds, 'Who did it: `anyone` is a caller of an open service.'),
    actorId: orNull(
      'The id of the key, or the subject of the token.',
      '019aa5d0-7c2e-7d4f-9b1a-3f6c2f1e8a90',
    ),
    actorName: Type.String({
      description: 'The name of the key, token or job.',
      examples: ['nightly import'],
    }),
    door: oneOf(doors, 'By which door.'),
    address: orNull('From which address, if one was involved.', '203.0.113.7'),
    requestId: orNull('The `X-Request-Id` of the request.', '0b4c1f9e-8f43-4f0e-9d0b-6a3f9a0e7d11'),
    details: stateChange,
  },
  { $id: 'AuditEntry', description: 'One write: who, what, when, from where and by which door.' },
);
export type AuditEntry = Static<typeof AuditEntry>;

/** A provider, a colon and a customer. */
const longestRecordId = 64 + 1 + longestCustomer;
const only = (description: string) =>
  Type.Optional(text(1, longestRecordId, description, '019aa5d0-7c2e-7d4f-9b1a-3f6c2f1e8a90'));
export const AuditQuery = strict({
  ...cursorPaging,
  action: Type.Optional({ ...action, description: 'Only entries of this action.' }),
  record: only('Only entries about the record with this id.'),
  actor: only('Only entries of the key with this id, or the token with this subject.'),
  ...period,
});
export type AuditQuery = Static<typeof AuditQuery>;

export const AuditList = cursorListOf(AuditEntry, 'AuditList');
