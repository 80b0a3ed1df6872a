import { type Static, type TObject, type TSchema, Type } from '@sinclair/typebox';
import { integer, nullableText, ref, strict, time } from './common.ts';

export const pageLimit = { default: 20, maximum: 100 };

const limit = Type.Integer({
  minimum: 1,
  maximum: pageLimit.maximum,
  default: pageLimit.default,
  description: 'The maximum number of records in a page.',
});

/** Has no default, which would be filled in beside a cursor, by the page at /docs too. */
const page = Type.Optional(
  Type.Integer({
    minimum: 1,
    maximum: 2147483647,
    description:
      'The page, counted from 1, which is the default. A page past the end is empty. Not together with a cursor.',
  }),
);

/**
 * A cursor holds the value that the list is sorted by. An index holds no value above 2,700 bytes, which are 3,700
 * characters in a cursor.
 */
const longestCursor = 4000;
const cursorParameter = (description: string) =>
  Type.Optional(Type.String({ maxLength: longestCursor, description }));
const cursors = {
  after: cursorParameter('A cursor from `meta`: returns the page after it. Empty: the first page.'),
  before: cursorParameter(
    'A cursor from `meta`: returns the page before it. Empty: the last page. Not together with `after`.',
  ),
};

const period = {
  createdSince: Type.Optional(time('Only records created at or after this time, RFC 3339.')),
  createdBefore: Type.Optional(time('Only records created before this time, RFC 3339.')),
};

/** What every list takes besides its filters: a page by number or by cursor, in one of these orders. */
export const listParameters = <T extends string>(sorts: readonly T[]) => ({
  page,
  limit,
  ...cursors,
  sort: sortBy(sorts),
  ...period,
});

/** What every log takes besides its filters. Its pages come by cursor only, the newest records first. */
export const logParameters = { limit, ...cursors, ...period };

/** `field` is ascending, `-field` is descending. Equal values are in the order of creation. */
const sortBy = <T extends string>(fields: readonly T[]) =>
  Type.Unsafe<T | `-${T}`>({
    type: 'string',
    enum: fields.flatMap(field => [field, `-${field}`]),
    default: fields[0],
    description: 'The order of the list; a leading `-` reverses it.',
  });

export const PageMeta = strict(
  {
    page: integer('The number of this page.', 1),
    limit: integer('The page size used.', 20),
    total: integer('How many records there are in all.', 41),
    totalPages: integer('The total divided by the limit, rounded up.', 3),
  },
  { $id: 'PageMeta', description: 'Which page of the list this is.' },
);
export type PageMeta = Static<typeof PageMeta>;

const cursor = (description: string) =>
  nullableText(description, 'Jx2d0bQmMDE5YWE1ZDAtN2MyZS03ZDRmLTliMWEtM2Y2YzJmMWU4YTkw');
export const CursorMeta = strict(
  {
    limit: integer('The page size used.', 20),
    next: cursor('The cursor to send as `after` for the next page; null on the last page.'),
    previous: cursor('The cursor to send as `before` for the previous page; null on the first page.'),
  },
  { $id: 'CursorMeta', description: 'How to get the next and the previous page.' },
);
export type CursorMeta = Static<typeof CursorMeta>;

const pageSchema = <T extends TObject, M extends TSchema>(item: T, meta: M, $id: string) =>
  strict(
    { data: Type.Array(ref(item), { description: 'The records of the page.' }), meta },
    { $id, description: `A page of a list of ${item.$id}.` },
  );
const listMeta = Type.Union([ref(PageMeta), ref(CursorMeta)], {
  description: 'By cursor, if the query has one; else by number.',
});
export const listSchema = <T extends TObject>(item: T, $id: string) => pageSchema(item, listMeta, $id);
export const logSchema = <T extends TObject>(item: T, $id: string) => pageSchema(item, ref(CursorMeta), $id);
