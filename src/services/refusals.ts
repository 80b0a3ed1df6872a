import { AppError, invalid, lockedOut, tookTooLong, unavailable } from '../core/errors.ts';
import {
  type DatabaseFailure,
  databaseFailure,
  isLockedOut,
  isOutage,
  isTooSlow,
} from '../database/databaseErrors.ts';

/** The error for a client when a constraint refuses a write. A foreign key refuses in two directions. */
const refusals: Record<string, (failure: DatabaseFailure) => AppError> = {
  users_email_key: () =>
    new AppError('conflict', 'A user with this e-mail address already exists.', {
      code: 'email_taken',
      path: '/email',
    }),
  posts_author_id_fkey: ({ deleting }) =>
    deleting
      ? new AppError('conflict', 'The user still has posts.', { code: 'user_has_posts' })
      : invalid([{ in: 'body', path: '/authorId', message: 'is the id of no user' }]),
};

/** Any failure as the one error type that clients see. Unknown ones stay internal. */
export function explain(error: unknown): AppError {
  if (error instanceof AppError) return error;
  const failure = databaseFailure(error);
  const refusal = failure?.constraint && refusals[failure.constraint];
  if (failure && refusal) return refusal(failure);
  if (failure && isTooSlow(failure)) return tookTooLong(error);
  if (failure && isOutage(failure)) return unavailable(error);
  if (isLockedOut(error)) return lockedOut();
  return new AppError('internal', 'Internal error.', undefined, { cause: error });
}
