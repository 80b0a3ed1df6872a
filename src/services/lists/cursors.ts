import { hash } from 'node:crypto';
import { isId } from '../../core/ids.ts';

/**
 * Where a record stands in a list: the values it is sorted by, then its id, as texts. Without parts it is an end of the
 * list, as an empty `after` or `before` is.
 */
export type Place = string[];

/** No text of ours contains it. */
const separator = '\0';

/**
 * The cursor of a place: valid also after the record is deleted, because it holds the values. `list` names the list, its
 * order and its filters. The checksum refuses a mistyped cursor and one of another list, which would silently lead to
 * the wrong page. It is no secret: a forged cursor only chooses another place.
 */
export function makeCursor(list: string, place: Place): string {
  const text = place.join(separator);
  return `${checksum(list, text)}${Buffer.from(text).toString('base64url')}`;
}

/** The place in a cursor of this list, whose places have so many parts; undefined for any other text. */
export function readCursor(list: string, cursor: string, parts: number): Place | undefined {
  const text = Buffer.from(cursor.slice(checksumLength), 'base64url').toString();
  const place = text === '' ? [] : text.split(separator);
  const isPlace = text === '' || (place.length === parts && isId(place.at(-1) ?? ''));
  return isPlace && makeCursor(list, place) === cursor ? place : undefined;
}

const checksumLength = 8;
const checksum = (list: string, place: string) =>
  hash('sha256', `${list}\n${place}`, 'base64url').slice(0, checksumLength);
