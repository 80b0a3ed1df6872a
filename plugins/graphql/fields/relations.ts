import { orNotFound } from '../../../src/core/errors.ts';
import { capitalize } from '../../../src/core/text.ts';
import type { Relation } from '../../../src/services/relations.ts';
import type { Part, Resolver } from '../part.ts';
import { fieldsOf } from './lists.ts';
import { loadRecord } from './records.ts';

/** Both directions of a relation: the parent of a child, and on the parent the fields of the list of its children. */
export function relationFields(relation: Relation): Part[] {
  const { parent, child, member, name } = relation;
  const { record, query } = child.contract;
  if (!Object.hasOwn(query.properties, name))
    throw new Error(`The list of ${child.nouns} has no filter "${name}".`);
  const isOptional = [record.properties[member]?.type].flat().includes('null');
  const { sdl, resolvers } = fieldsOf(child, relation);
  const parentOf: Resolver = async (record, _, operation) =>
    record[member] === null
      ? null
      : orNotFound(capitalize(parent.noun), await loadRecord(parent, record[member], operation));
  return [
    {
      sdl: [
        /* GraphQL */ `
extend type ${child.title} {
  "The ${parent.noun} that the ${child.noun} belongs to."
  ${name}: ${parent.title}${isOptional ? '' : '!'}
}`,
      ],
      types: { [child.title]: { [name]: parentOf } },
    },
    { sdl: [sdl], types: { [parent.title]: resolvers } },
  ];
}
