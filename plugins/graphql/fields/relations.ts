import type { TObject } from '@sinclair/typebox';
import { strict } from '../../../schemas/common.ts';
import { paging } from '../../../schemas/lists.ts';
import { orNotFound } from '../../../src/core/errors.ts';
import { skipped } from '../../../src/core/pages.ts';
import type { Children } from '../../../src/services/relations.ts';
import { selectedFields } from '../documents/selection.ts';
import type { Part, Resolver } from '../part.ts';
import { type Arguments, listQuery, wholeList } from './lists.ts';

const childrenQuery = listQuery(strict(paging));

/** Both directions of a relation: the parent of a child, and the children of a parent with their number. */
export function relationFields(children: Children, record: TObject): Part {
  const { parent, child, member, counts } = children;
  const [parentType, field] = [parent.title, member.replace(/Id$/, '')];
  const parentOf: Resolver = async (record, _, { loaders }) =>
    orNotFound(parentType, await loaders.one(parent.ofIds, record[member]));
  return {
    sdl: [
      /* GraphQL */ `
extend type ${record.$id} {
  "The ${parent.name} that the ${child.name} belongs to."
  ${field}: ${parentType}!
}

extend type ${parentType} {
  "The ${parent.name}'s ${child.plural}, in the order of creation: all of them up to a maximum, or one page."
  ${child.plural}(page: Int, limit: Int): [${record.$id}!]!
  "How many ${child.plural} the ${parent.name} has."
  ${child.plural}Count: Int!
}`,
    ],
    types: {
      [record.$id ?? '']: { [field]: parentOf },
      [parentType]: {
        [child.plural]: pageOfChildren(children, Object.keys(record.properties)),
        [`${child.plural}Count`]: async ({ id }, _, { loaders }) => (await loaders.one(counts, id)) ?? 0,
      },
    },
  };
}

const pageOfChildren =
  ({ pages }: Children, columns: string[]): Resolver =>
  async ({ id }, args: Arguments, operation, info) => {
    const { query, paged } = childrenQuery(args);
    const selected = selectedFields(info);
    const members = columns.filter(member => selected.has(member));
    const { loaders, maxList } = operation;
    if (paged) return loaders.page(pages, id, { limit: query.limit, skip: skipped(query), members });
    // One more than the maximum tells whether there are more.
    const found = await loaders.page(pages, id, { limit: maxList + 1, skip: 0, members });
    return wholeList(found, found.length > maxList, operation, info);
  };
