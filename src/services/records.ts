import { isDeepStrictEqual } from 'node:util';
import type { ReadOnly } from '../../schemas/common.ts';
import { invalid } from '../core/errors.ts';

const readOnly: readonly string[] = ['id', 'createdAt', 'updatedAt'] satisfies ReadOnly[];
const times = readOnly.filter(name => name !== 'id');

/**
 * The members of an input that differ from the stored record. The read-only ones may be repeated, because
 * what a client got it may send back; to change one is an error and not silently ignored.
 */
export function changesTo<T extends object>(stored: T, input: Partial<T>): Partial<T> | undefined {
  const different = Object.entries(input).filter(
    ([name, value]) => !same(stored[name as keyof T], value, times.includes(name)),
  );
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

/** Equal; of times also the same one in another notation, because clients print them in their own way. */
const same = (stored: unknown, given: unknown, isTime: boolean) =>
  isDeepStrictEqual(stored, given) || (isTime && Date.parse(String(stored)) === Date.parse(String(given)));
