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
    const signature = `(input: ${title}CreateInput!): ${title}`;
    parts.push(
      mutation(`Creates ${one}.`, `create${title}`, signature, resolver, toInput(title, contract.create)),
    );
  }
  if (replace) {
    const signature = `(${byId}, input: ${title}ReplaceInput!): ${title}`;
    const resolver = changeBy(contract.replace, replace);
    parts.push(
      mutation(
        `Replaces ${one} completely.`,
        `replace${title}`,
        signature,
        resolver,
        toInput(title, contract.replace),
      ),
    );
  }
  if (change) {
    const signature = `(${byId}, input: ${title}UpdateInput!): ${title}`;
    const text = `Updates ${one} partially: members that are absent stay as they are.`;
    parts.push(
      mutation(
        text,
        `update${title}`,
        signature,
        changeBy(contract.update, change),
        toInput(title, contract.update),
      ),
    );
  }
  if (remove) {
    const signature = `(${byId}, cascade: Boolean! = false): ID`;
    const text = `Deletes ${one}, with cascade also what belongs to it. Returns the id.`;
    const resolver: Resolver = async (_, given: Expecting & Removal, { context }) => {
      await remove(context, given.id, { cascade: given.cascade }, conditionOf(given));
      return given.id;
    };
    parts.push(mutation(text, `delete${title}`, signature, resolver));
  }
  return parts;
}

/** A field of the type Mutation: its arguments with its type, and the other types that it needs. */
const mutation = (
  description: string,
  name: string,
  signature: string,
  resolver: Resolver,
  ...types: string[]
): Part => ({
  sdl: [...types, `extend type Mutation { "${description}" ${name}${signature} }`],
  Mutation: { [name]: resolver },
});

const conditionOf = ({ expectedVersion }: Omit<Expecting, 'id'>) =>
  typeof expectedVersion === 'number' ? expectVersion(expectedVersion) : undefined;

/** The check turns any input into what the service takes, which the compiler cannot see. */
const bodyCheck = (schema: TObject) => checkedBy(ref(schema), 'body') as (input: object) => never;
