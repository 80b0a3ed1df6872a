import { hash } from 'node:crypto';
import type { CursorMeta, PageMeta } from '../../schemas/lists.ts';
import { isId } from './ids.ts';

export interface PageRequest {
  page: number;
  limit: number;
}

export interface Page<T, Meta = PageMeta> {
  data: T[];
  meta: Meta;
}
export type CursorPage<T> = Page<T, CursorMeta>;

export const skipped = ({ page, limit }: PageRequest) => (page - 1) * limit;

export const pageOf = <T>(data: T[], total: number, { page, limit }: PageRequest): Page<T> => ({
  data,
  meta: { page, limit, total, totalPages: Math.ceil(total / limit) },
});

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
    first: query,
    prev: previous === null ? undefined : { ...query, before: previous },
    next: next === null ? undefined : { ...query, after: next },
  };
}

/** Characters. When the headers exceed its buffer, nginx answers 502 and takes the server out; each link repeats the filters. */
const maxLinkLength = 2048;

/** The `Link` header (RFC 8288). When all links are too long, only the previous and next page; else undefined. */
export function linkHeader(path: string, neighbours: Neighbours): string | undefined {
  const headerOf = (relations: string[]) =>
    relations
      .filter(relation => neighbours[relation])
      .map(relation => `<${path}?${new URLSearchParams({ ...neighbours[relation] })}>; rel="${relation}"`)
      .join(', ');
  const candidates = [headerOf(Object.keys(neighbours)), headerOf(['prev', 'next'])];
  return candidates.find(header => header.length <= maxLinkLength) || undefined;
}

/**
 * The cursor of a record: its position in a list, valid also after the record is deleted. `list` names the list, its
 * order and its filters. The checksum refuses a mistyped cursor and one of another list, which would silently lead
 * to the wrong page. It is no secret: a forged cursor only chooses another position.
 */
export function makeCursor(list: string, id: string): string {
  return `${checksum(list, id)}${Buffer.from(id).toString('base64url')}`;
}

/** The id in a cursor of this list; undefined for any other text. */
export function readCursor(list: string, cursor: string): string | undefined {
  const id = Buffer.from(cursor.slice(checksumLength), 'base64url').toString();
  return isId(id) && makeCursor(list, id) === cursor ? id : undefined;
}

const checksumLength = 8;
const checksum = (list: string, id: string) =>
  hash('sha256', `${list}\n${id}`, 'base64url').slice(0, checksumLength);
