import type { TObject } from '@sinclair/typebox';
import type { Resolver, SchemaPart } from '#plugins/graphql/schema.ts';
import { ref } from '#schemas/parts/common.ts';
import type { Removal } from '#schemas/parts/contract.ts';
import type { Context } from '#src/access/context.ts';
import { type Need, need } from '#src/access/need.ts';
import { expectVersion } from '#src/core/conditions.ts';
import { withArticle } from '#src/core/text.ts';
import type { Operations } from '#src/records/resource.ts';
import { checkedBy } from './inputs.ts';
import { toSDL } from './sdl.ts';

type Expecting = { id: string; expectedVersion?: number | null };
type Write = (context: Context, input: never, args: Expecting) => Promise<object>;
const byId =
  'id: ID!, "The version that the record must have: otherwise the error is CONFLICT." expectedVersion: Int';

/** The mutations that mirror the REST writes of a resource, with the same inputs. */
export function mutationFields({ resource, create, replace, change, remove }: Operations): SchemaPart[] {
  const { contract, noun, title } = resource;
  const one = withArticle(noun);
  const fields: SchemaPart[] = [];
  function addWrite(
    verb: string,
    description: string,
    schema: TObject,
    write: Write,
    scope?: Need,
    args = '',
  ) {
    const check = bodyCheck(schema, scope);
    const type = `${schema.$id}Input`;
    const resolve: Resolver = (_, { input, ...args }, { context }) =>
      write(context, check(context, input), args);
    const signature = `(${args}input: ${type}!): ${title}`;
    const types = toSDL(`input ${type}`, title, schema);
    fields.push(mutation(`${verb}${title}`, description, signature, resolve, types));
  }

  if (create) addWrite('create', `Creates ${one}.`, contract.create, create, create.scope);
  if (replace) {
    const description = `Replaces ${one} completely.`;
    addWrite('replace', description, contract.replace, ofRecord(replace), replace.scope, `${byId}, `);
  }
  if (change) {
    const description = `Updates ${one} partially: members that are absent stay as they are.`;
    addWrite('update', description, contract.update, ofRecord(change), change.scope, `${byId}, `);
  }
  if (remove) {
    const description = `Deletes ${one}, with cascade also what belongs to it. Returns the id.`;
    const resolve: Resolver = async (_, args: Expecting & Removal, { context }) => {
      await remove(context, args.id, { cascade: args.cascade }, expectedCondition(args));
      return args.id;
    };
    const signature = `(${byId}, cascade: Boolean! = false): ID`;
    fields.push(mutation(`delete${title}`, description, signature, resolve));
  }
  return fields;
}

/** A field of the type Mutation, and the types that only it needs. */
const mutation = (
  name: string,
  description: string,
  signature: string,
  resolve: Resolver,
  types = '',
): SchemaPart => ({
  sdl: `${types} extend type Mutation { "${description}" ${name}${signature} }`,
  resolvers: { Mutation: { [name]: resolve } },
});

/** A change of the record that the arguments name. */
const ofRecord =
  (write: NonNullable<Operations['change']>): Write =>
  (context, input, args) =>
    write(context, args.id, input, expectedCondition(args));

const expectedCondition = ({ expectedVersion }: Expecting) =>
  typeof expectedVersion === 'number' ? expectVersion(expectedVersion) : undefined;

/**
 * Checks the scope before the input, as REST does. The compiler cannot see that a checked input is what the service
 * takes: hence the type `never`.
 */
export function bodyCheck(schema: TObject, scope: Need = 'write') {
  const check = checkedBy(ref(schema), 'body') as (input: object) => never;
  return (context: Context, input: object) => {
    need(context, scope);
    return check(input);
  };
}
