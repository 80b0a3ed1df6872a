import type { Static, TObject } from '@sinclair/typebox';
import { ref } from '../../../schemas/common.ts';
import type { Removal } from '../../../schemas/records.ts';
import { type Condition, expectVersion } from '../../../src/core/conditions.ts';
import type { Context } from '../../../src/core/context.ts';
import { withArticle } from '../../../src/core/text.ts';
import type { Kind } from '../../../src/services/kinds.ts';
import type { OperationContext, Part, Resolver } from '../part.ts';
import { checkedBy } from './inputs.ts';
import { toInput, toType } from './sdl.ts';

type ById = { id: string };
type Expecting = ById & { expectedVersion?: number | null };

/** The type of a record, and the field that reads one. */
export const recordFields = (kind: Kind, record: TObject): Part => ({
  sdl: [
    ...toType(record),
    /* GraphQL */ `
extend type Query {
  "One ${kind.name}, or null."
  ${kind.name}(id: ID!): ${record.$id}
}`,
  ],
  Query: { [kind.name]: (_, { id }: ById, operation) => loadRecord(kind, id, operation) },
});

/** A record, or undefined, in one call of the service with the other ids of the turn. */
export const loadRecord = (kind: Kind, id: string, { context, load }: OperationContext) =>
  load<unknown>(kind, [], id, ids => kind.ofIds(context, ids));

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
  const checkNew = bodyCheck(create);
  const changeBy = (schema: R | U): Resolver => {
    const check = bodyCheck(schema);
    return (_, { id, input, ...rest }: Expecting & { input: object }, { context }) =>
      write.change(context, id, check(input), conditionOf(rest));
  };
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
        write.create(context, checkNew(input)),
      [`replace${type}`]: changeBy(replace),
      [`update${type}`]: changeBy(update),
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
