import { Column, getTableName, is, type SQLWrapper } from '#drizzle/orm.ts';
import { databaseFailure } from '#src/database/databaseErrors.ts';
import { readCriteria } from './criteria.ts';
import { type CursorPosition, readCursor } from './cursors.ts';
import {
  type Compared,
  hasPeriod,
  type ListQuery,
  type ListRules,
  namesIn,
  readPeriod,
  wrongParameter,
} from './rules.ts';
import type { PageReading } from './selection.ts';

/** A query of a list, as statements have it. */
export interface Asked {
  query: ListQuery;
  rules: ListRules;
  reading: Omit<PageReading, 'from' | 'way' | 'by'>;
  /** The values by placeholder. */
  values: Record<string, unknown>;
  isBackward: boolean;
}

export function ask(given: ListRules, query: ListQuery, perParent?: string): Asked {
  const { sort: named = '-createdAt', page = 1, limit } = query;
  const sort = named.replace('-', '');
  const [column] = given.sorts?.[sort] ?? [];
  const rules = column ? { ...given, filters: { ...given.filters, $sort: compared(column) } } : given;
  const { used, values } = readCriteria(given, query);
  const reading = { used, hasPeriod: hasPeriod(query), perParent, brief: query.$brief, sort };
  return {
    query,
    rules,
    reading: { ...reading, descending: named.startsWith('-') },
    values: { limit, ...values, ...readPeriod(query), $skip: (page - 1) * limit },
    isBackward: query.before !== undefined,
  };
}

const compared = (column: SQLWrapper): Compared =>
  is(column, Column) ? (column as never) : { indexed: column, of: value => value as never };

/** Names a list with its order and its criteria. A cursor fits only the list whose name it was made with. */
export const nameOfList = ({ query, rules, reading: { used }, values }: Asked) =>
  JSON.stringify([
    getTableName(rules.table),
    query.sort,
    readPeriod(query),
    used.map(criterion => [criterion, values[criterion]]),
  ]);

/** The position of the cursor, after which a page begins. It has one of these numbers of values. */
export function positionIn(asked: Asked, lengths: number[]): CursorPosition {
  const { query } = asked;
  if (namesIn(['after', 'before'], query).length > 1)
    throw wrongParameter('before', 'cannot be combined with "after"');
  const cursor = query.before ?? query.after;
  const position = cursor ? readCursor(nameOfList(asked), cursor, lengths) : [];
  if (position === undefined) throw wrongCursor(asked);
  return position;
}

export const wrongCursor = ({ isBackward }: Asked) =>
  wrongParameter(
    isBackward ? 'before' : 'after',
    'is not a cursor of this list with these filters and this sort',
  );

/** A forged cursor may hold a value that its column cannot have, such as a word for a number. */
export const isNoValue = (error: unknown) => databaseFailure(error)?.code.startsWith('22');
