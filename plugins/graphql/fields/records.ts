import type { Static, TObject } from '@sinclair/typebox';
import { ref } from '../../../schemas/common.ts';
import type { Removal } from '../../../schemas/records.ts';
import { type Condition, expectVersion } from '../../../src/core/conditions.ts';
import type { Context } from '../../../src/core/context.ts';
import { withArticle } from '../../../src/core/text.ts';
import type { Kind } from '../../../src/services/kinds.ts';
import type { Part } from '../part.ts';
import { checkedBy } from './inputs.ts';
import { toInput, toType } from './sdl.ts';

type ById = { id: string };
type Expecting = ById & { expectedVersion?: number | null };

/** The type of a record, and the field that reads one. */
export const recordFields = ({ name, ofIds }: Kind, record: TObject): Part => ({
  sdl: [
    ...toType(record),
    /* GraphQL */ `
extend type Query {
  "One ${name}, or null."
  ${name}(id: ID!): ${record.$id}
}`,
  ],
  Query: { [name]: (_, { id }: ById, { loaders }) => loaders.one(ofIds, id) },
});

const expectedVersion =
  '"The version that the record must have: otherwise the error is CONFLICT." expectedVersion: Int';

interface Inputs<C extends TObject, R extends TObject, U extends TObject> {
  create: C;
  replace: R;
  update: U;
}
interface Writes<C extends TObject, R extends TObject, U extends TObject> {
  create: (context: Context, input: Static<C>) => Promise<unknown>;
  change: (
    context: Context,
    id: string,
    input: Static<R> | Static<U>,
    condition?: Condition,
  ) => Promise<unknown>;
  remove: (context: Context, id: string, options: Removal, condition?: Condition) => Promise<void>;
}

/** The mutations that mirror the REST writes, with the same inputs. */
export function mutationFields<C extends TObject, R extends TObject, U extends TObject>(
  { name }: Kind,
  record: TObject,
  { create, replace, update }: Inputs<C, R, U>,
  write: Writes<C, R, U>,
): Part {
  const { $id: type = '' } = record;
  const one = withArticle(name);
  const checks = { create: bodyCheck(create), replace: bodyCheck(replace), update: bodyCheck(update) };
  return {
    sdl: [
      ...[create, replace, update].map(input => toInput(type, input)),
      /* GraphQL */ `
extend type Mutation {
  "Creates ${one}."
  create${type}(input: ${create.$id}Input!): ${type}
  "Replaces ${one} completely."
  replace${type}(id: ID!, ${expectedVersion}, input: ${replace.$id}Input!): ${type}
  "Updates ${one} partially: members that are absent stay as they are."
  update${type}(id: ID!, ${expectedVersion}, input: ${update.$id}Input!): ${type}
  "Deletes ${one}, with cascade also what belongs to it. Returns the id."
  delete${type}(id: ID!, ${expectedVersion}, cascade: Boolean! = false): ID
}`,
    ],
    Mutation: {
      [`create${type}`]: (_, { input }: { input: object }, { context }) =>
        write.create(context, checks.create(input)),
      [`replace${type}`]: (_, { id, input, ...rest }: Expecting & { input: object }, { context }) =>
        write.change(context, id, checks.replace(input), conditionOf(rest)),
      [`update${type}`]: (_, { id, input, ...rest }: Expecting & { input: object }, { context }) =>
        write.change(context, id, checks.update(input), conditionOf(rest)),
      [`delete${type}`]: async (_, { id, cascade, ...rest }: Expecting & Removal, { context }) => {
        await write.remove(context, id, { cascade }, conditionOf(rest));
        return id;
      },
    },
  };
}

const conditionOf = ({ expectedVersion }: Omit<Expecting, 'id'>) =>
  typeof expectedVersion === 'number' ? expectVersion(expectedVersion) : undefined;

const bodyCheck = <T extends TObject>(schema: T) => checkedBy(ref(schema), 'body');
