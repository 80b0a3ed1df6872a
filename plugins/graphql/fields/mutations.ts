import type { TObject } from '@sinclair/typebox';
import { ref } from '../../../schemas/common.ts';
import type { Removal } from '../../../schemas/contract.ts';
import { expectVersion } from '../../../src/core/conditions.ts';
import { withArticle } from '../../../src/core/text.ts';
import type { Operations } from '../../../src/services/resource.ts';
import type { Part, Resolver } from '../part.ts';
import { checkedBy } from './inputs.ts';
import { toInput } from './sdl.ts';

type Expecting = { id: string; expectedVersion?: number | null };
const byId =
  'id: ID!, "The version that the record must have: otherwise the error is CONFLICT." expectedVersion: Int';

/** The mutations that mirror the REST writes of a resource, with the same inputs. */
export function mutationFields({ resource, create, replace, change, remove }: Operations): Part[] {
  const { contract, noun, title } = resource;
  const one = withArticle(noun);
  const changeBy = (schema: TObject, write: NonNullable<typeof change>): Resolver => {
    const check = bodyCheck(schema);
    return (_, { id, input, ...expecting }: Expecting & { input: object }, { context }) =>
      write(context, id, check(input), conditionOf(expecting));
  };
  const parts: Part[] = [];
  if (create) {
    const check = bodyCheck(contract.create);
    const resolver: Resolver = (_, { input }: { input: object }, { context }) =>
      create(context, check(input));
    const field = `create${title}(input: ${title}CreateInput!): ${title}`;
    parts.push(mutation(`Creates ${one}.`, field, resolver, toInput(title, contract.create)));
  }
  if (replace) {
    const field = `replace${title}(${byId}, input: ${title}ReplaceInput!): ${title}`;
    const resolver = changeBy(contract.replace, replace);
    parts.push(mutation(`Replaces ${one} completely.`, field, resolver, toInput(title, contract.replace)));
  }
  if (change) {
    const field = `update${title}(${byId}, input: ${title}UpdateInput!): ${title}`;
    const text = `Updates ${one} partially: members that are absent stay as they are.`;
    parts.push(mutation(text, field, changeBy(contract.update, change), toInput(title, contract.update)));
  }
  if (remove) {
    const field = `delete${title}(${byId}, cascade: Boolean! = false): ID`;
    const text = `Deletes ${one}, with cascade also what belongs to it. Returns the id.`;
    const resolver: Resolver = async (_, given: Expecting & Removal, { context }) => {
      await remove(context, given.id, { cascade: given.cascade }, conditionOf(given));
      return given.id;
    };
    parts.push(mutation(text, field, resolver));
  }
  return parts;
}

/** A field of the type Mutation, and the types that it needs. */
const mutation = (description: string, field: string, resolver: Resolver, ...types: string[]): Part => ({
  sdl: [...types, `extend type Mutation { "${description}" ${field} }`],
  Mutation: { [field.slice(0, field.indexOf('('))]: resolver },
});

const conditionOf = ({ expectedVersion }: Omit<Expecting, 'id'>) =>
  typeof expectedVersion === 'number' ? expectVersion(expectedVersion) : undefined;

/** An operation takes what its contract says: only here it is known whether the input does. */
const bodyCheck = (schema: TObject) => checkedBy(ref(schema), 'body') as (input: object) => never;
