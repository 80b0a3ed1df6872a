import type { TObject } from '@sinclair/typebox';
import { strict } from '../../../schemas/common.ts';
import { paging } from '../../../schemas/lists.ts';
import { orNotFound } from '../../../src/core/errors.ts';
import type { PagedList } from '../../../src/services/lists/pagedList.ts';
import { type CursorPage, skipped } from '../../../src/services/lists/pages.ts';
import type { Children } from '../../../src/services/relations.ts';
import { selectedFields } from '../documents/selection.ts';
import type { Part, Resolver } from '../part.ts';
import { connectionArguments, connectionOf, connectionQuery } from './connections.ts';
import { type Arguments, listQuery, oncePerField, type QuerySchema } from './inputs.ts';
import { wholeList } from './lists.ts';

const childrenQuery = listQuery(strict(paging));

/**
 * Both directions of a relation: the parent of a child, and the children of a parent with their number. The list of the
 * children has a filter with the name of the field.
 */
export function relationFields<T, F extends string, S extends string>(
  children: Children,
  record: TObject,
  schema: QuerySchema<F, S>,
  list: PagedList<T, F, S>,
): Part {
  const { parent, child, member, counts } = children;
  const [parentType, field] = [parent.title, member.replace(/Id$/, '')];
  const { [field]: _parent, ...parameters } = schema.properties;
  if (_parent === undefined) throw new Error(`The list of ${child.plural} has no filter "${field}".`);
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
  "The same by cursor, with the sorts and filters of the list."
  ${child.plural}Connection(${connectionArguments(record.$id ?? '', parameters)}): ${record.$id}Connection!
}`,
    ],
    types: {
      [record.$id ?? '']: { [field]: parentOf },
      [parentType]: {
        [child.plural]: pageOfChildren(children, Object.keys(record.properties)),
        [`${child.plural}Count`]: async ({ id }, _, { loaders }) => (await loaders.one(counts, id)) ?? 0,
        [`${child.plural}Connection`]: connectionOfChildren(children, field as F, schema, list),
      },
    },
  };
}

function pageOfChildren({ pages }: Children, columns: string[]): Resolver {
  const toPage = oncePerField((args, info) => {
    const selected = selectedFields(info);
    return { ...childrenQuery(args), members: columns.filter(member => selected.has(member)) };
  });
  return async ({ id }, args: Arguments, operation, info) => {
    const { query, paged, members } = toPage(args, info);
    const { loaders, maxList } = operation;
    if (paged) return loaders.page(pages, id, { limit: query.limit, skip: skipped(query), members });
    // One more than the maximum tells whether there are more.
    const found = await loaders.page(pages, id, { limit: maxList + 1, skip: 0, members });
    return wholeList(found, found.length > maxList, operation, info);
  };
}

/** A page at an end of the list is read together with those of other parents. A cursor belongs to one parent. */
function connectionOfChildren<T, F extends string, S extends string>(
  { counts }: Children,
  filter: F,
  schema: QuerySchema<F, S>,
  list: PagedList<T, F, S>,
): Resolver {
  const toQuery = oncePerField(connectionQuery(schema));
  const [ends, totals] = [list.ofEach(filter), list.totalOfEach(filter)];
  return async ({ id }, args: Arguments, { context, loaders, budget }, info) => {
    const query = toQuery(args, info);
    const own = { ...query, [filter]: id };
    const read = async () => {
      const page = (await list(context, own)) as CursorPage<T>;
      budget.spend(page.data.length);
      return page;
    };
    const page = query.after || query.before ? await read() : await loaders.end(ends, id, query);
    const { limit, sort, after, before, ...filters } = query;
    const isFiltered = Object.keys(filters).length > 0;
    const total = async () =>
      (await (isFiltered ? loaders.total(totals, id, query) : loaders.one(counts, id))) ?? 0;
    return connectionOf(page as CursorPage<T>, total);
  };
}
