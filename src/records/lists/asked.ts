import { getTableName } from '#drizzle/orm.ts';
import type { Context } from '#src/access/context.ts';
import { need } from '#src/access/need.ts';
import { firstId } from '#src/core/ids.ts';
import { databaseFailure } from '#src/database/databaseErrors.ts';
import { readCriteria } from './criteria.ts';
import { type CursorPosition, readCursor } from './cursors.ts';
import { type ListQuery, type ListRules, namesIn, ownFilter, readPeriod, wrongParameter } from './rules.ts';
import { partsOf, positionColumns, type Selection } from './selection.ts';

/** A query of a list, as statements have it. */
export interface Asked {
  query: ListQuery;
  selection: Selection;
  /** The values by placeholder. */
  values: Record<string, unknown>;
  isBackward: boolean;
}

/** The query of a caller, limited to the caller's records if the list is private and the caller has only `own`. */
export function ask(inside: Context, rules: ListRules, given: object, perParent?: string): Asked {
  need(inside, rules.scope);
  inside.budget?.check();
  const { scopes, person } = inside.actor;
  const isOwn = !scopes.includes('read') && ownFilter in rules.filters;
  const query = { ...given, ...(isOwn && { [ownFilter]: person ?? firstId }) } as ListQuery;
  const { sort = '-createdAt', page = 1, limit, $brief: brief, before } = query;
  const { criteria, values } = readCriteria(rules, query);
  const hasPeriod = namesIn(['createdSince', 'createdBefore'], query).length > 0;
  const order = { sort: sort.replace('-', ''), descending: sort.startsWith('-') };
  return {
    query,
    selection: { rules, criteria, hasPeriod, ...order, perParent, brief },
    values: { limit, ...values, ...readPeriod(query), $skip: (page - 1) * limit },
    isBackward: before !== undefined,
  };
}

/** Names a list with its order and its criteria. A cursor fits only the list whose name it was made with. */
export const nameOfList = ({ query, selection: { rules, criteria }, values }: Asked) =>
  JSON.stringify([
    getTableName(rules.table),
    query.sort,
    readPeriod(query),
    criteria.map(({ name }) => [name, values[name]]),
  ]);

/** The position of the cursor, after which a page begins. */
export function positionIn(asked: Asked): CursorPosition {
  const { query, selection } = asked;
  if (namesIn(['after', 'before'], query).length > 1)
    throw wrongParameter('before', 'cannot be combined with "after"');
  const cursor = query.before ?? query.after;
  const lengths = partsOf(selection).map(part => positionColumns(part).length);
  const position = cursor ? readCursor(nameOfList(asked), cursor, lengths) : [];
  if (position === undefined) throw wrongCursor(asked);
  return position;
}

const wrongCursor = ({ isBackward }: Asked) =>
  wrongParameter(
    isBackward ? 'before' : 'after',
    'is not a cursor of this list with these filters and this sort',
  );

/** Refuses a forged cursor, which may hold a value that its column cannot have, such as a word for a number. */
export function refuseForged(asked: Asked, error: unknown): never {
  const { after, before } = asked.query;
  throw (after || before) && databaseFailure(error)?.code.startsWith('22') ? wrongCursor(asked) : error;
}
