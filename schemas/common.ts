import { type Static, type TObject, type TProperties, type TSchema, Type } from '@sinclair/typebox';

/** An object that refuses members it does not name. */
export const strict = <T extends TProperties>(properties: T, options: object = {}) =>
  Type.Object(properties, { additionalProperties: false, ...options });

/** A reference to a shared component, so that the document names it once. */
export const ref = <T extends TSchema>(schema: T) => Type.Unsafe<Static<T>>({ $ref: `${schema.$id ?? ''}#` });

/** Text that every database and every client can hold: no NUL, no half of a surrogate pair. */
export const wholeText = '^[^\\u0000\\ud800-\\udfff]*$';
export const text = (minLength: number, maxLength: number, description: string, example: string) =>
  Type.String({ minLength, maxLength, pattern: wholeText, description, examples: [example] });

export const idPattern = '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$';
export const Id = Type.String({
  pattern: idPattern,
  description: 'An opaque identifier, made by the service.',
  examples: ['019aa5d0-7c2e-7d4f-9b1a-3f6c2f1e8a90'],
});

export const Time = (description: string) =>
  Type.String({
    format: 'date-time',
    readOnly: true,
    description,
    examples: ['2026-11-21T09:30:00.000Z'],
  });

/** The members that the service alone writes. A body may repeat them, unchanged. */
export const readOnly = {
  id: { ...Id, readOnly: true },
  createdAt: Time('When the record was created, RFC 3339 in UTC.'),
  updatedAt: Time('When the record was last changed, RFC 3339 in UTC.'),
};
export type ReadOnly = keyof typeof readOnly;

export const pageLimit = { default: 20, maximum: 100 };

/** The query parameters that every list takes. */
export const paging = {
  page: Type.Integer({
    minimum: 1,
    maximum: 2147483647,
    default: 1,
    description: 'The page, counted from 1. A page past the end is empty.',
  }),
  limit: Type.Integer({
    minimum: 1,
    maximum: pageLimit.maximum,
    default: pageLimit.default,
    description: 'How many records a page holds at most.',
  }),
};

/** The query parameters of a list that goes by cursor. */
export const cursorPaging = {
  limit: paging.limit,
  after: Type.Optional(
    Type.String({
      maxLength: 200,
      description:
        'A cursor from `meta`: the page that follows it. Empty, or absent like `before`: the first page.',
    }),
  ),
  before: Type.Optional(
    Type.String({
      maxLength: 200,
      description:
        'A cursor from `meta`: the page that precedes it. Empty: the last page. Not together with `after`.',
    }),
  ),
};

const bound = (description: string) =>
  Type.Optional(
    Type.String({ format: 'date-time', maxLength: 64, description, examples: ['2026-11-21T09:30:00.000Z'] }),
  );
/** The query parameters that select by the time of creation. */
export const period = {
  createdSince: bound('Only records from this instant on, RFC 3339.'),
  createdBefore: bound('Only records from before this instant, RFC 3339.'),
};

/** `field` ascends, `-field` descends. Equal values follow in the order of creation. */
export const sortBy = <T extends string>(fields: readonly T[]) =>
  Type.Unsafe<T | `-${T}`>({
    type: 'string',
    enum: fields.flatMap(field => [field, `-${field}`]),
    default: fields[0],
    description: 'The order of the list; a leading `-` reverses it.',
  });

export const PageMeta = strict(
  {
    page: Type.Integer({ description: 'The page number used.', examples: [1] }),
    limit: Type.Integer({ description: 'The page size used.', examples: [20] }),
    total: Type.Integer({ description: 'How many records there are in all.', examples: [41] }),
    totalPages: Type.Integer({ description: 'The total divided by the limit, rounded up.', examples: [3] }),
  },
  { $id: 'PageMeta', description: 'Where a page stands in its list.' },
);
export type PageMeta = Static<typeof PageMeta>;

const cursor = (description: string) =>
  Type.Unsafe<string | null>({
    type: ['string', 'null'],
    description,
    examples: ['Jx2d0bQmMDE5YWE1ZDAtN2MyZS03ZDRmLTliMWEtM2Y2YzJmMWU4YTkw'],
  });
export const CursorMeta = strict(
  {
    limit: Type.Integer({ description: 'The page size used.', examples: [20] }),
    next: cursor('The cursor for `after`, which leads to the next page; null at the end.'),
    previous: cursor('The cursor for `before`, which leads to the previous page; null at the beginning.'),
  },
  { $id: 'CursorMeta', description: 'Where a page stands in a list that goes by cursor.' },
);
export type CursorMeta = Static<typeof CursorMeta>;

const envelopeOf = <T extends TObject, M extends TObject>(item: T, meta: M, $id: string) =>
  strict(
    { data: Type.Array(ref(item), { description: 'The records of the page.' }), meta: ref(meta) },
    { $id, description: `A page of a list of ${item.$id}.` },
  );
/** The envelope of a list. */
export const listOf = <T extends TObject>(item: T, $id: string) => envelopeOf(item, PageMeta, $id);
/** The envelope of a list that goes by cursor. */
export const cursorListOf = <T extends TObject>(item: T, $id: string) => envelopeOf(item, CursorMeta, $id);
