import { AppError, invalid, unavailable } from '../core/errors.ts';
import { databaseFailure, isLockedOut, isOutage } from '../core/failure.ts';

/** What it means to a caller when a constraint refuses a write. */
const refusals: Record<string, () => AppError> = {
  users_email_key: () =>
    new AppError('conflict', 'A user with this e-mail address exists already.', {
      code: 'email_taken',
      path: '/email',
    }),
  posts_author_id_fkey: () => invalid([{ in: 'body', path: '/authorId', message: 'is the id of no user' }]),
};

/** Any failure as the one error type that callers see. What is not understood stays internal. */
export function explain(error: unknown): AppError {
  if (error instanceof AppError) return error;
  const failure = databaseFailure(error);
  const refusal = failure?.constraint && refusals[failure.constraint];
  if (refusal) return refusal();
  if (failure && isOutage(failure)) return unavailable(error);
  if (isLockedOut(error))
    return new AppError('unavailable', 'Another change of the same record takes long. Try again shortly.');
  return new AppError('internal', 'Internal error.', undefined, { cause: error });
}
