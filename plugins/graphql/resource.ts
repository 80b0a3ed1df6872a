import { orNotFound } from '#src/core/errors.ts';
import { capitalize } from '#src/core/text.ts';
import type { AnyResource, Operations, Relation } from '#src/records/resource.ts';
import { childFields, listFields } from './fields/lists.ts';
import { mutationFields } from './fields/mutations.ts';
import { toType } from './fields/sdl.ts';
import type { Resolver, SchemaPart } from './schema.ts';

/** A resource over GraphQL: its type, the queries, both directions of each relation, and the operations that it has. */
export const resourceFields = (operations: Operations): SchemaPart[] => [
  recordFields(operations.resource),
  ...listFields(operations.resource),
  ...operations.resource.parentRelations.flatMap(relation => [parentField(relation), childFields(relation)]),
  ...mutationFields(operations),
];

/** The type of a record, and the field that reads one. */
const recordFields = (resource: AnyResource): SchemaPart => ({
  sdl: /* GraphQL */ `
${toType(resource.contract.record)}
extend type Query {
  "One ${resource.noun}, or null."
  ${resource.name}(id: ID!): ${resource.title}
}`,
  resolvers: {
    Query: { [resource.name]: (_, { id }: { id: string }, { context }) => resource.find(context, id) },
  },
});

/** The field of a child for its parent. */
function parentField({ parent, child, member, name }: Relation): SchemaPart {
  const isOptional = [child.contract.record.properties[member]?.type].flat().includes('null');
  const mayBeNull = isOptional || parent.isPrivate;
  const resolve: Resolver = async (record, _, { context }) => {
    if (record[member] === null) return null;
    const found = await parent.find(context, record[member]);
    return parent.isPrivate ? found : orNotFound(capitalize(parent.noun), found);
  };
  return {
    sdl: /* GraphQL */ `
extend type ${child.title} {
  "The ${parent.noun} that the ${child.noun} belongs to."
  ${name}: ${parent.title}${mayBeNull ? '' : '!'}
}`,
    resolvers: { [child.title]: { [name]: resolve } },
  };
}
