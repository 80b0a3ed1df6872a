import { isDeepStrictEqual } from 'node:util';
import type { ReadOnly } from '../../schemas/common.ts';
import type { Context } from '../core/context.ts';
import { AppError, invalid } from '../core/errors.ts';
import { inTransaction } from '../database/transaction.ts';
import { inTurn } from '../database/turns.ts';

/** Does a write of one existing record in a transaction, after the earlier ones of the same record. */
export const changeRecord = <T>(
  context: Context,
  id: string,
  write: (inside: Context) => Promise<T>,
): Promise<T> => inTurn(id, () => inTransaction(context, write));

const constant: readonly string[] = ['id', 'createdAt'] satisfies ReadOnly[];
const times: readonly string[] = ['createdAt', 'updatedAt'] satisfies ReadOnly[];

/**
 * The members of an input that differ from the stored record. Clients may send back what they read: a constant member
 * that differs is an error, and another `updatedAt` means that the record was changed since.
 */
export function changesTo<T extends { updatedAt: string }>(
  stored: T,
  input: Partial<T>,
): Partial<T> | undefined {
  const different = Object.entries(input).filter(
    ([name, value]) => !same(stored[name as keyof T], value, times.includes(name)),
  );
  const refused = different.filter(([name]) => constant.includes(name));
  if (refused.length > 0)
    throw invalid(
      refused.map(([name]) => ({
        in: 'body',
        path: `/${name}`,
        message: 'is read-only and differs from the stored value',
      })),
    );
  if (different.some(([name]) => name === 'updatedAt')) throw stale(stored.updatedAt);
  return different.length > 0 ? (Object.fromEntries(different) as Partial<T>) : undefined;
}

const stale = (updatedAt: string) =>
  new AppError('conflict', 'The record was changed since you read it. Read it again.', {
    code: 'stale',
    updatedAt,
  });

/** Equal; of times also the same one in another notation, because clients print them in their own way. */
const same = (stored: unknown, given: unknown, isTime: boolean) =>
  isDeepStrictEqual(stored, given) || (isTime && Date.parse(String(stored)) === Date.parse(String(given)));
