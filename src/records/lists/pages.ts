import type { CursorMeta, PageMeta } from '#schemas/parts/lists.ts';

export interface ListPage<T, Meta = PageMeta> {
  data: T[];
  meta: Meta;
  hasNext: boolean;
}
/** A page without the `meta` of REST. */
export interface Slice<T> extends Omit<ListPage<T>, 'meta'> {
  hasPrevious: boolean;
  /** The cursor of one of the records. */
  cursorAt: (index: number) => string;
}
export interface CursorPage<T> extends ListPage<T, CursorMeta>, Slice<T> {}

/** The queries of neighbouring pages by link relation; undefined where there is no such page. */
type Neighbours = Record<string, object | undefined>;

export function pagesAround(query: object, { page, totalPages }: PageMeta): Neighbours {
  const last = Math.max(1, totalPages);
  const at = (number: number) => ({ ...query, page: number });
  return {
    first: at(1),
    prev: page > 1 ? at(Math.min(page - 1, last)) : undefined,
    next: page < last ? at(page + 1) : undefined,
    last: at(last),
  };
}

export function cursorsAround(
  { after: _after, before: _before, ...query }: { after?: string; before?: string },
  { next, previous }: CursorMeta,
): Neighbours {
  return {
    // A query without `after` would be a page by number.
    first: { ...query, after: '' },
    prev: previous === null ? undefined : { ...query, before: previous },
    next: next === null ? undefined : { ...query, after: next },
  };
}

/**
 * Characters. Links repeat the filters, and when headers exceed nginx's buffer, it answers 502 and sends the server no
 * more requests.
 */
const maxLinkLength = 2048;

/** The `Link` header (RFC 8288): all links; if these are too long, `prev` and `next`; if these are, undefined. */
export function linkHeader(path: string, neighbours: Neighbours): string | undefined {
  const links = Object.entries(neighbours).flatMap(([relation, query]) =>
    query ? { relation, text: `<${path}?${new URLSearchParams({ ...query })}>; rel="${relation}"` } : [],
  );
  const nearest = links.filter(({ relation }) => relation === 'prev' || relation === 'next');
  const headers = [links, nearest].map(each => each.map(({ text }) => text).join(', '));
  return headers.find(header => header.length <= maxLinkLength) || undefined;
}
