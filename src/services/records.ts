import { isDeepStrictEqual } from 'node:util';
import type { ReadOnly } from '../../schemas/common.ts';
import { invalid } from '../core/errors.ts';

const readOnly: readonly string[] = ['id', 'createdAt', 'updatedAt'] satisfies ReadOnly[];

/**
 * The members of an input that differ from the stored record. The read-only ones may be repeated, because
 * what a client got it may send back; to change one is an error and not silently ignored.
 */
export function changesTo<T extends object>(stored: T, input: Partial<T>): Partial<T> | undefined {
  const different = Object.entries(input).filter(([name, value]) => !same(stored[name as keyof T], value));
  const refused = different.filter(([name]) => readOnly.includes(name));
  if (refused.length > 0)
    throw invalid(
      refused.map(([name]) => ({
        in: 'body',
        path: `/${name}`,
        message: 'is read-only and differs from the stored value',
      })),
    );
  return different.length > 0 ? (Object.fromEntries(different) as Partial<T>) : undefined;
}

const isTime = /^\d{4}-\d\d-\d\dT/i;

/** Equal values; also the same instant in another notation, because clients print times in their own way. */
function same(stored: unknown, given: unknown): boolean {
  if (typeof stored === 'string' && typeof given === 'string' && isTime.test(stored) && isTime.test(given))
    return Date.parse(stored) === Date.parse(given);
  return isDeepStrictEqual(stored, given);
}
