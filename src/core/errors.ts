import type { Violation } from '../../schemas/error.ts';

/**
 * Every error that a caller can meet, and its HTTP status. Both doors read this table. 401 means that we do not
 * know who asks, 403 that we know and it is not allowed; `details.scope` then names what is missing.
 */
export const statusOf = {
  invalid: 400,
  bad_request: 400,
  unauthenticated: 401,
  forbidden: 403,
  not_found: 404,
  method_not_allowed: 405,
  timeout: 408,
  conflict: 409,
  too_large: 413,
  unsupported_media_type: 415,
  rate_limited: 429,
  headers_too_large: 431,
  internal: 500,
  unavailable: 503,
} as const;
export type ErrorCode = keyof typeof statusOf;

export type Details = Violation[] | ({ code: string } & Record<string, unknown>);

export class AppError extends Error {
  readonly code: ErrorCode;
  readonly details: Details;

  constructor(code: ErrorCode, message: string, details: Details = { code }, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
    this.details = details;
  }
}

export const invalid = (violations: Violation[]) =>
  new AppError('invalid', 'The input is not valid.', violations);

export const unavailable = (cause?: unknown) =>
  new AppError('unavailable', 'The service cannot reach its database. Try again shortly.', undefined, {
    cause,
  });

export const tookTooLong = (cause?: unknown) =>
  new AppError('unavailable', 'The service took too long. Try again shortly.', undefined, { cause });

/** Somebody else holds a lock for too long. Nothing was changed. */
export const lockedOut = () =>
  new AppError(
    'unavailable',
    'Another change, which this one waits for, is taking too long. Try again shortly.',
  );

/** More than the process can do now. Waiting in line would only make all answers late. */
export const overloaded = () =>
  new AppError('unavailable', 'The service has too much to do. Try again shortly.', { code: 'overloaded' });

export const notFound = (what: string) => new AppError('not_found', `${what} not found.`);

/** The record, or the error that says there is none. */
export function orNotFound<T>(what: string, record: T | undefined): T {
  if (record === undefined) throw notFound(what);
  return record;
}
