import { type Static, type TSchema, Type } from '@sinclair/typebox';
import { integer, strict, string } from '#schemas/parts/common.ts';

const body =
  'As its route takes it; absent for `DELETE`. Where it takes an id, `"$0"` is the id of the record that operation 0 creates, which must come before.';
const Operation = strict({
  method: string('`POST`, `PUT`, `PATCH` or `DELETE`.'),
  path: string('The path of a resource, or of a record of it.'),
  body: Type.Optional(Type.Unknown({ description: body })),
  ifMatch: Type.Optional(string('As the header `If-Match`, not for `POST`.')),
});
export type BatchOperation = Static<typeof Operation>;

/** What a batch of these writes takes. */
export function batchBody(writes: string[], example: BatchOperation[]) {
  const description = `Each is one of these: ${writes.map(write => `\`${write}\``).join(', ')}.`;
  const operations = Type.Array(Operation, { minItems: 1, maxItems: 100, description, examples: [example] });
  const order = 'Writes of records, in the order in which they are done.';
  return strict({ operations }, { $id: 'BatchBody', description: order });
}

/** What a batch of writes of these records answers. */
export function batchResults(records: TSchema[]) {
  const body = Type.Unsafe<object>({ anyOf: records, description: 'The record; absent for `DELETE`.' });
  const result = strict({ status: integer('As its route answers.', 201), body: Type.Optional(body) });
  const results = Type.Array(result, { description: 'One for each operation, in their order.' });
  return strict({ results }, { $id: 'BatchResults', description: 'What the operations of a batch did.' });
}
