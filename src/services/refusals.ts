import { AppError, internal, lockedOut, tookTooLong, unavailable } from '../core/errors.ts';
import { databaseFailure, isLockedOut, isOutage, isTooSlow } from '../database/databaseErrors.ts';

const refusals = new Map<string, () => AppError>();

/** Names the error that clients get when a constraint refuses a write. Without one, it is an internal error. */
export const refuse = (constraint: string, refusal: () => AppError) => void refusals.set(constraint, refusal);

/** Any failure as the one error type that clients see. Unknown ones stay internal. */
export function explain(error: unknown): AppError {
  if (error instanceof AppError) return error;
  const refusal = refusals.get(databaseFailure(error)?.constraint ?? '');
  if (refusal) return refusal();
  if (isTooSlow(error)) return tookTooLong(error);
  if (isOutage(error)) return unavailable(error);
  if (isLockedOut(error)) return lockedOut();
  return internal(error);
}
