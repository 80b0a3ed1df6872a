import { hash } from 'node:crypto';
import { isId } from '#src/core/ids.ts';

/**
 * Where a record stands in a list: the values it is sorted by, then its id, as texts. The values lack those that are
 * null. An empty position is an end of the list, which an empty `after` or `before` stands for.
 */
export type CursorPosition = string[];

/** A character that no text in the database contains. */
const separator = '\0';

/**
 * The cursor of a position. It stays valid after the record is deleted, because it holds the values. `list` names the
 * list, its order and its filters. The checksum refuses a mistyped cursor and one of another list, which would
 * silently lead to the wrong page. It is no secret: a forged cursor only chooses another position.
 */
export function makeCursor(list: string, position: CursorPosition): string {
  const text = position.join(separator);
  return `${checksum(list, text)}${Buffer.from(text).toString('base64url')}`;
}

/** The position in a cursor of this list, whose positions have so many values; undefined for any other text. */
export function readCursor(list: string, cursor: string, lengths: number[]): CursorPosition | undefined {
  const text = Buffer.from(cursor.slice(checksumLength), 'base64url').toString();
  const position = text === '' ? [] : text.split(separator);
  const isPosition = text === '' || (lengths.includes(position.length) && isId(position.at(-1) ?? ''));
  return isPosition && makeCursor(list, position) === cursor ? position : undefined;
}

const checksumLength = 8;
const checksum = (list: string, position: string) =>
  hash('sha256', `${list}\n${position}`, 'base64url').slice(0, checksumLength);
