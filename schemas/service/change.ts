import { type TObject, type TSchema, Type } from '@sinclair/typebox';
import { exampleId, integer, oneOf, ref, storedTime, strict, string, text } from '#schemas/parts/common.ts';
import { longestCustomer } from './subscription.ts';

/** The longest id in the audit log: the one of a subscription. */
export const longestRecordId = 64 + 1 + longestCustomer;
export const changeActions = ['create', 'change', 'delete'] as const;
export type ChangeAction = (typeof changeActions)[number];

/** A committed change of a record of one of these resources. */
export const changeSchema = (resources: { name: string; contract: { record: TObject } }[]) =>
  strict(
    {
      resource: oneOf(
        resources.map(({ name }) => name),
        'The kind of record.',
      ),
      id: string('The id of the record; for a subscription `<provider>:<customer>`.', exampleId),
      action: oneOf(changeActions, 'What was done to it.', 'change'),
      version: integer('The version that the change made; for a deletion the last one and one more.', 2),
      changed: Type.Array(Type.String(), {
        description: 'The names of the members that were changed; empty for a creation and a deletion.',
        examples: [['name']],
      }),
      at: storedTime('When it was changed.'),
      record: Type.Unsafe({
        anyOf: [...resources.map(({ contract }) => ref(contract.record)), { type: 'null' }],
        description: 'The record as it is now, which may be newer than `version`; null when it is gone.',
      }),
    },
    { $id: 'Change', description: 'The `data` of an event of the stream of changes.' },
  );

const position = 'A position: the `id` of an event. The stream begins with the changes after it';

/** What the stream takes: which resource, which record, and what the record belongs to. */
export const changesQuery = (
  resources: { name: string; parents: Record<string, string>; contract: { record: TObject } }[],
) => {
  const names = resources.map(({ name }) => name);
  const values = resources.flatMap(({ parents, contract }) =>
    Object.entries(parents).map(([filter, member]) => [filter, contract.record.properties[member]] as const),
  );
  const parents = [...Map.groupBy(values, ([filter]) => filter)].map(([filter, all]) => {
    const description = `Only changes of records that have this ${filter}, before or after.`;
    const [first, ...others] = all.map(([, value]) => value as TSchema);
    // Another resource may have a filter of the same name for another kind of id.
    const value = others.every(({ pattern }) => pattern === first?.pattern) ? first : Type.String();
    return [filter, Type.Optional({ ...value, description } as TSchema)] as const;
  });
  return strict({
    resource: Type.Optional(oneOf(names, 'Only changes of this kind of record.')),
    id: Type.Optional(text(1, longestRecordId, 'Only changes of the record with this id.', exampleId)),
    ...Object.fromEntries(parents),
    after: Type.Optional(Type.String({ maxLength: 100, description: `${position}.` })),
  });
};

export const changesHeaders = Type.Object({
  'last-event-id': Type.Optional(Type.String({ description: `${position}, whatever \`after\` says.` })),
});
