import { randomFillSync } from 'node:crypto';
import { idPattern } from '../../schemas/common.ts';

const pool = Buffer.alloc(4096);
let used = pool.length;
let last = 0;
let counter = 0;

/**
 * A UUIDv7 (RFC 9562): the time in milliseconds, a counter, then 62 random bits. Ids of one process only
 * ascend, also within one millisecond and when the clock steps back, so an order by id is one by creation.
 */
export function newId(milliseconds: number): string {
  counter = milliseconds > last ? 0 : counter + 1;
  last = Math.max(last, milliseconds);
  if (counter > 0xfff) [last, counter] = [last + 1, 0];
  if (used === pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  pool[used] = 0x80 | ((pool[used] ?? 0) & 0x3f);
  const random = pool.toString('hex', used, used + 8);
  used += 8;
  const time = last.toString(16).padStart(12, '0');
  const count = counter.toString(16).padStart(3, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7${count}-${random.slice(0, 4)}-${random.slice(4)}`;
}

const shape = new RegExp(idPattern);
export const isId = (text: string) => shape.test(text);

/** No id made at this time or later is lower. */
export function lowestId(time: Date): string {
  const hex = time.getTime().toString(16).padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-000000000000`;
}
