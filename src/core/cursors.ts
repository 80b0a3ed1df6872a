import { hash } from 'node:crypto';
import { isId } from './ids.ts';

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
