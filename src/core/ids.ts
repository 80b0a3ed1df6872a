import { randomUUID } from 'node:crypto';
import { idPattern } from '#schemas/parts/common.ts';

let last = 0;
let counter = 0;

/**
 * A UUIDv7 (RFC 9562): the time in milliseconds, a counter, then 62 random bits. The ids of a process always ascend,
 * even within a millisecond and when the clock steps back: ordering by id is ordering by creation.
 */
export function newId(milliseconds: number): string {
  counter = milliseconds > last ? 0 : counter + 1;
  last = Math.max(last, milliseconds);
  if (counter > 0xfff) [last, counter] = [last + 1, 0];
  const time = toHex(last);
  const count = counter.toString(16).padStart(3, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7${count}-${randomUUID().slice(19)}`;
}

const toHex = (milliseconds: number) => milliseconds.toString(16).padStart(12, '0');

const shape = new RegExp(idPattern);
export const isId = (text: string) => shape.test(text);

/** Bounds below and above every id: RFC 9562 reserves both, so no id equals either. */
export const [firstId, lastId] = [
  '00000000-0000-0000-0000-000000000000',
  'ffffffff-ffff-ffff-ffff-ffffffffffff',
];

/** A bound: below every id created at this time or later, above every earlier one, and never an id itself. */
export function lowestId(time: Date): string {
  // No id has a time before 1970.
  const hex = toHex(Math.max(0, time.getTime()));
  return `${hex.slice(0, 8)}-${hex.slice(8)}-0000-0000-000000000000`;
}

/** The members that the service gives to a new record. Their time is that in the id, which time filters compare. */
export function newRecord({ now }: { now: () => Date }) {
  const id = newId(now().getTime());
  const createdAt = new Date(last).toISOString();
  return { id, version: 1, createdAt, updatedAt: createdAt };
}
