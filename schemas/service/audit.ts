import { type Static, Type } from '@sinclair/typebox';
import {
  exampleId,
  Id,
  nullableText,
  oneOf,
  readOnly,
  ref,
  storedTime,
  strict,
  string,
  text,
} from '#schemas/parts/common.ts';
import { only } from '#schemas/parts/filters.ts';
import { logParameters, logSchema } from '#schemas/parts/lists.ts';
import { changeActions, longestRecordId } from './change.ts';
import { SubscriptionItem } from './subscription.ts';

/** The kind of record, and what was done to it. */
export type AuditAction = `${string}.${string}`;
const actorKinds = ['anyone', 'key', 'token', 'system'] as const;
export const transports = ['rest', 'graphql', 'webhook', 'job', 'command'] as const;
export type Transport = (typeof transports)[number];

const action = Type.Unsafe<AuditAction>(
  string('The kind of record, and what was done to it.', 'user.change'),
);
const StateChange = strict({
  event: string('The id of the webhook event that changed the state.', exampleId),
  eventId: nullableText("The provider's id of that event.", 'evt_3MtwBwLkdIwHu7ix28a3tqPa'),
  occurredAt: storedTime(
    'When that event happened, as the provider says; its arrival if the provider does not say.',
  ),
  from: nullableText('The state of the customer before; null if there was none.', 'past_due'),
  to: string('The state of the customer after.', 'active'),
  subscription: {
    ...ref(SubscriptionItem),
    description: 'The subscription that it is about, as it is since then.',
  },
});
const ByPerson = strict({
  person: { ...Id, description: 'The user for whom a caller with the scope `own` wrote it.' },
});
const details = Type.Unsafe<Static<typeof StateChange> | Static<typeof ByPerson> | null>({
  anyOf: [StateChange, ByPerson, { type: 'null' }],
  description:
    'For `subscription.change`: the event, and the states before and after. For a write of a person: who. Otherwise null.',
  // The other examples are of a `user.change`, which has no details.
  examples: [null],
});

export const AuditEntry = strict(
  {
    id: readOnly.id,
    createdAt: storedTime('When it was done.'),
    action,
    recordId: string('The id of the record; for a subscription `<provider>:<customer>`.', exampleId),
    changed: Type.Array(Type.String(), {
      description: 'The names of the members that a change of a record wrote, without their values.',
      examples: [['name']],
    }),
    actorKind: oneOf(actorKinds, 'The kind of actor: `anyone` is a caller of an open service.', 'key'),
    actorId: nullableText(
      'The id of the key, or the subject of the token.',
      '019aa5d0-51e4-7b0a-8c3d-2f7e9a6b1c40',
    ),
    actorName: string('The name of the key, token or job.', 'nightly import'),
    transport: oneOf(transports, 'The interface that the write came through.'),
    address: nullableText('The IP address of the request.', '203.0.113.7'),
    requestId: nullableText('The `X-Request-Id` of the request.', '0b4c1f9e-8f43-4f0e-9d0b-6a3f9a0e7d11'),
    details,
  },
  {
    $id: 'AuditEntry',
    description: 'One write: who did what, when, from where and through which interface.',
  },
);
export type AuditEntry = Static<typeof AuditEntry>;

const id = text(1, longestRecordId, '', exampleId);
const otherActions = [
  ...['key.create', 'key.revoke', 'identity.create', 'identity.delete'],
  ...['subscription.change', 'event.replay', 'event.dismiss'],
];

/** The query of the audit log, given the names of the resources. */
export const auditQuery = (names: string[]) => {
  const actions = [...names.flatMap(name => changeActions.map(write => `${name}.${write}`)), ...otherActions];
  return strict({
    ...logParameters,
    action: only(oneOf(actions, '', 'user.change'), 'Only entries with this action.'),
    record: only(id, 'Only entries about the record with this id.'),
    actor: only(id, 'Only entries by the key with this id, or the token with this subject.'),
  });
};

export const AuditList = logSchema(AuditEntry, 'AuditList');
