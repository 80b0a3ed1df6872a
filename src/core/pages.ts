import type { PageMeta } from '../../schemas/common.ts';

export interface PageRequest {
  page: number;
  limit: number;
}

export interface Page<T> {
  data: T[];
  meta: PageMeta;
}

export const skipped = ({ page, limit }: PageRequest) => (page - 1) * limit;

export const pageOf = <T>(data: T[], total: number, { page, limit }: PageRequest): Page<T> => ({
  data,
  meta: { page, limit, total, totalPages: Math.ceil(total / limit) },
});

/** The `Link` header (RFC 8288) of a page: the same list, the same filters, another page. */
export function linkHeader(path: string, query: object, { page, totalPages }: PageMeta): string {
  const last = Math.max(1, totalPages);
  const pages = { first: 1, prev: page > 1 && Math.min(page - 1, last), next: page < last && page + 1, last };
  return Object.entries(pages)
    .filter(([, number]) => number !== false)
    .map(
      ([rel, number]) => `<${path}?${new URLSearchParams({ ...query, page: String(number) })}>; rel="${rel}"`,
    )
    .join(', ');
}
