import type { TObject } from '@sinclair/typebox';
import { ref } from '../../../schemas/common.ts';
import type { Removal } from '../../../schemas/contract.ts';
import { type Need, need } from '../../../src/access/need.ts';
import { expectVersion } from '../../../src/core/conditions.ts';
import type { Context } from '../../../src/core/context.ts';
import { withArticle } from '../../../src/core/text.ts';
import type { AnyResource, Operations } from '../../../src/services/resource.ts';
import type { Resolver, SchemaPart } from '../schema.ts';
import { checkedBy } from './inputs.ts';
import { toSDL } from './sdl.ts';

type Expecting = { id: string; expectedVersion?: number | null };
const byId =
  'id: ID!, "The version that the record must have: otherwise the error is CONFLICT." expectedVersion: Int';

/** The mutations that mirror the REST writes of a resource, with the same inputs. */
export function mutationFields({ resource, create, replace, change, remove }: Operations): SchemaPart[] {
  const { contract, noun } = resource;
  const one = withArticle(noun);
  const byMembers = `Updates ${one} partially: members that are absent stay as they are.`;
  const fields = [
    create && creation(resource, create),
    replace && changing('replace', `Replaces ${one} completely.`, resource, contract.replace, replace),
    change && changing('update', byMembers, resource, contract.update, change),
    remove && removal(resource, remove),
  ];
  return fields.filter(field => field !== undefined);
}

type Write<K extends keyof Operations> = NonNullable<Operations[K]>;

function creation({ contract, noun, title }: AnyResource, create: Write<'create'>): SchemaPart {
  const check = bodyCheck(contract.create, create.scope);
  return mutation(
    `Creates ${withArticle(noun)}.`,
    `create${title}`,
    `(input: ${title}CreateInput!): ${title}`,
    (_, { input }: { input: object }, { context }) => create(context, check(context, input)),
    [toSDL(`input ${title}CreateInput`, title, contract.create)],
  );
}

function changing(
  verb: string,
  description: string,
  { title }: AnyResource,
  schema: TObject,
  change: Write<'change'>,
): SchemaPart {
  const check = bodyCheck(schema, change.scope);
  return mutation(
    description,
    `${verb}${title}`,
    `(${byId}, input: ${schema.$id}Input!): ${title}`,
    (_, { id, input, ...expecting }: Expecting & { input: object }, { context }) =>
      change(context, id, check(context, input), conditionOf(expecting)),
    [toSDL(`input ${schema.$id}Input`, title, schema)],
  );
}

function removal({ noun, title }: AnyResource, remove: Write<'remove'>): SchemaPart {
  const description = `Deletes ${withArticle(noun)}, with cascade also what belongs to it. Returns the id.`;
  const resolver: Resolver = async (_, args: Expecting & Removal, { context }) => {
    await remove(context, args.id, { cascade: args.cascade }, conditionOf(args));
    return args.id;
  };
  return mutation(description, `delete${title}`, `(${byId}, cascade: Boolean! = false): ID`, resolver);
}

/** A field of the type Mutation: its arguments with its type, and the other types that it needs. */
const mutation = (
  description: string,
  name: string,
  signature: string,
  resolver: Resolver,
  types: string[] = [],
): SchemaPart => ({
  sdl: [...types, `extend type Mutation { "${description}" ${name}${signature} }`],
  resolvers: { Mutation: { [name]: resolver } },
});

const conditionOf = ({ expectedVersion }: Omit<Expecting, 'id'>) =>
  typeof expectedVersion === 'number' ? expectVersion(expectedVersion) : undefined;

/**
 * Judges the scope before the input, as REST does. The check turns any input into what the service takes, which the
 * compiler cannot see.
 */
export function bodyCheck(schema: TObject, scope: Need = 'write') {
  const check = checkedBy(ref(schema), 'body') as (input: object) => never;
  return (context: Context, input: object) => {
    need(context, scope);
    return check(input);
  };
}
