import type { CursorMeta, PageMeta } from '../../schemas/common.ts';

export interface PageRequest {
  page: number;
  limit: number;
}

export interface Page<T> {
  data: T[];
  meta: PageMeta;
}

export interface CursorPage<T> {
  data: T[];
  meta: CursorMeta;
}

export const skipped = ({ page, limit }: PageRequest) => (page - 1) * limit;

export const pageOf = <T>(data: T[], total: number, { page, limit }: PageRequest): Page<T> => ({
  data,
  meta: { page, limit, total, totalPages: Math.ceil(total / limit) },
});

/** The queries of the pages around one, by their relations; undefined where there is no such page. */
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
    first: query,
    prev: previous === null ? undefined : { ...query, before: previous },
    next: next === null ? undefined : { ...query, after: next },
  };
}

/**
 * Each link repeats the query, so a long filter would make the header too large for a balancer: nginx turns an
 * answer whose headers do not fit into its buffer into a 502 and takes the server out.
 */
const longestLink = 2048;

/**
 * The `Link` header (RFC 8288): the same list and filters, other pages. Where it would be too long, only the
 * next and the previous page; where that is too long as well, undefined.
 */
export function linkHeader(path: string, neighbours: Neighbours): string | undefined {
  const headerOf = (relations: string[]) =>
    relations
      .filter(relation => neighbours[relation])
      .map(relation => `<${path}?${new URLSearchParams({ ...neighbours[relation] })}>; rel="${relation}"`)
      .join(', ');
  return (
    [headerOf(Object.keys(neighbours)), headerOf(['prev', 'next'])].find(
      header => header.length <= longestLink,
    ) || undefined
  );
}
