import { hash } from 'node:crypto';
import { isId } from './ids.ts';

/**
 * The cursor of a record: its place in a list, which stays when the record goes. `list` names all that decides
 * where that place is: the list, its order and its filters. The checksum covers both, so that a cursor of
 * another list or one with a typing error is refused, and does not lead to some other place in silence. It
 * holds no secret: who forges a cursor can only choose another place.
 */
export function makeCursor(list: string, id: string): string {
  return `${checksum(list, id)}${Buffer.from(id).toString('base64url')}`;
}

/** The id in a cursor of this list; undefined when it is not one. */
export function readCursor(list: string, cursor: string): string | undefined {
  const id = Buffer.from(cursor.slice(checksumLength), 'base64url').toString();
  return isId(id) && makeCursor(list, id) === cursor ? id : undefined;
}

const checksumLength = 8;
const checksum = (list: string, id: string) =>
  hash('sha256', `${list}\n${id}`, 'base64url').slice(0, checksumLength);
