import type { TObject } from '@sinclair/typebox';
import { orNotFound } from '../../../src/core/errors.ts';
import type { PagedList } from '../../../src/services/lists/pagedList.ts';
import type { CursorPage, Slice } from '../../../src/services/lists/pages.ts';
import type { Criteria } from '../../../src/services/lists/rules.ts';
import type { Children } from '../../../src/services/relations.ts';
import type { Part, Resolver } from '../part.ts';
import { connectionArguments, connectionOf, connectionQuery } from './connections.ts';
import { type Arguments, listQuery, oncePerField, type QuerySchema } from './inputs.ts';
import { wholeList } from './lists.ts';
import { toArguments } from './sdl.ts';

/**
 * Both directions of a relation: the parent of a child, and the children of a parent as they are in their list, which has a
 * filter with the name of the field.
 */
export function relationFields<T, F extends string, S extends string>(
  { parent, child, member }: Children,
  record: TObject,
  schema: QuerySchema<F, S>,
  list: PagedList<T, F, S>,
): Part {
  const [type = '', parentType, field] = [record.$id, parent.title, member.replace(/Id$/, '')];
  const { [field]: filter, after, before, ...parameters } = schema.properties;
  if (filter === undefined) throw new Error(`The list of ${child.plural} has no filter "${field}".`);
  const parentOf: Resolver = async (record, _, { loaders }) =>
    orNotFound(parentType, await loaders.one(parent.ofIds, record[member]));
  const totals = list.totalOfEach(field as F);
  return {
    sdl: [
      /* GraphQL */ `
extend type ${type} {
  "The ${parent.name} that the ${child.name} belongs to."
  ${field}: ${parentType}!
}

extend type ${parentType} {
  "The ${parent.name}'s ${child.plural}: all of them up to a maximum, or one page if page or limit is given."
  ${child.plural}(${toArguments(type, parameters)}): [${type}!]!
  "How many ${child.plural} the ${parent.name} has."
  ${child.plural}Count: Int!
  "The ${child.plural} by cursor: the first 20, or first or last of them, from a cursor or from an end of the list."
  ${child.plural}Connection(${connectionArguments(type, parameters)}): ${type}Connection!
}`,
    ],
    types: {
      [type]: { [field]: parentOf },
      [parentType]: {
        [child.plural]: pageOfChildren(field as F, schema, list),
        [`${child.plural}Count`]: ({ id }, _, { loaders }) => loaders.total(totals, id, {}),
        [`${child.plural}Connection`]: connectionOfChildren(field as F, schema, list, totals),
      },
    },
  };
}

function pageOfChildren<T, F extends string, S extends string>(
  filter: F,
  schema: QuerySchema<F, S>,
  list: PagedList<T, F, S>,
): Resolver {
  const toQuery = oncePerField(listQuery(schema));
  const pages = list.ofEach(filter);
  return async ({ id }, args: Arguments, operation, info) => {
    const { query, paged } = toQuery(args, info);
    const page = paged ? query : { ...query, limit: operation.maxList };
    const { data, hasNext } = (await operation.loaders.page(pages, id, page)) as Slice<T>;
    return paged ? data : wholeList(data, hasNext, operation, info);
  };
}

/** A page at an end of the list is read together with those of other parents. A cursor belongs to one parent. */
function connectionOfChildren<T, F extends string, S extends string>(
  filter: F,
  schema: QuerySchema<F, S>,
  list: PagedList<T, F, S>,
  totals: ReturnType<typeof list.totalOfEach>,
): Resolver {
  const toQuery = oncePerField(connectionQuery(schema));
  const pages = list.ofEach(filter);
  return async ({ id }, args: Arguments, { context, loaders, budget }, info) => {
    const query = toQuery(args, info);
    const read = async () => {
      const page = (await list(context, { ...query, [filter]: id })) as CursorPage<T>;
      budget.spend(page.data.length);
      return page;
    };
    const page = query.after || query.before ? await read() : await loaders.page(pages, id, query);
    const { limit, sort, after, before, ...criteria } = query as Criteria<F> & Partial<typeof query>;
    return connectionOf(page as Slice<T>, () => loaders.total(totals, id, criteria as Criteria<F>));
  };
}
