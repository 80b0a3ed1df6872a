import type { TObject } from '@sinclair/typebox';
import { orNotFound } from '../../../src/core/errors.ts';
import type { PagedList } from '../../../src/services/lists/pagedList.ts';
import type { Relation } from '../../../src/services/relations.ts';
import type { Part, Resolver } from '../part.ts';
import type { QuerySchema } from './inputs.ts';
import { fieldsOn } from './lists.ts';
import { loadRecord } from './records.ts';

/**
 * Both directions of a relation: the parent of a child, and on the parent the fields of the list of the children, which has a
 * filter with the name of the field.
 */
export function relationFields<T, F extends string, S extends string>(
  { parent, child, member }: Relation,
  record: TObject,
  schema: QuerySchema<F, S>,
  list: PagedList<T, F, S>,
): Part {
  const [type = '', parentType, field] = [record.$id, parent.title, member.replace(/Id$/, '')];
  if (!Object.hasOwn(schema.properties, field))
    throw new Error(`The list of ${child.plural} has no filter "${field}".`);
  const filter = field as F;
  const { plural } = child;
  const { sdl, resolvers } = fieldsOn(parentType, { plural, record }, schema, list, {
    name: parent.name,
    filter,
  });
  const parentOf: Resolver = async (record, _, operation) =>
    orNotFound(parentType, await loadRecord(parent, record[member], operation));
  return {
    sdl: [
      /* GraphQL */ `
extend type ${type} {
  "The ${parent.name} that the ${child.name} belongs to."
  ${field}: ${parentType}!
}`,
      sdl,
    ],
    types: { [type]: { [field]: parentOf }, [parentType]: resolvers },
  };
}
