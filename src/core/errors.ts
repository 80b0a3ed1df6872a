import type { Violation } from '#schemas/parts/error.ts';

/**
 * Every error code that a client can get, with its HTTP status. A 401 means that the caller is unknown, a 403 that the
 * caller is known but may not do this.
 */
export const statusByCode = {
  invalid: 400,
  bad_request: 400,
  unauthenticated: 401,
  forbidden: 403,
  not_found: 404,
  method_not_allowed: 405,
  timeout: 408,
  conflict: 409,
  idempotency_in_progress: 409,
  person_exists: 409,
  gone: 410,
  version_mismatch: 412,
  too_large: 413,
  unsupported_media_type: 415,
  idempotency_key_reused: 422,
  rate_limited: 429,
  headers_too_large: 431,
  internal: 500,
  unavailable: 503,
} as const;
export type ErrorCode = keyof typeof statusByCode;

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

/** The code of an error, or of what caused it: one of ours, of the database or of the system. */
export function systemCode(error: unknown): string | undefined {
  for (let cause = error; cause instanceof Error; cause = cause.cause)
    if ('code' in cause && typeof cause.code === 'string') return cause.code;
  return undefined;
}

/** A function that makes an error, with the summary and the example that the OpenAPI document has of it. */
export const refusal = <A extends unknown[]>(
  summary: string,
  error: (...given: A) => AppError,
  ...example: NoInfer<A>
) => Object.assign(error, { summary, example: () => error(...example) });
export type Refusal = Pick<ReturnType<typeof refusal>, 'summary' | 'example'>;

/** The code of the error, what there are too many of, and how many are allowed. */
export type Limit = readonly [code: string, what: string, maximum: number];

/** The error of an operation that takes more than any operation may. */
export const tooMuch = ([code, what, maximum]: Limit, value: number) =>
  new AppError('bad_request', `Too many ${what}: ${value}, but at most ${maximum} are allowed.`, {
    code,
    value,
    maximum,
  });
export const isLimit = (details: Details) => 'value' in details && 'maximum' in details;

export const invalid = refusal(
  'The input is not valid: `details` lists what is wrong. For a body that cannot be parsed it has a `code` instead.',
  (violations: Violation[]) => new AppError('invalid', 'The input is not valid.', violations),
  [{ in: 'query', path: '/pretty', message: 'is not known' }],
);

export const invalidToken = (message: string) =>
  new AppError('unauthenticated', message, { code: 'unauthenticated', reason: 'invalid_token' });

export const rateLimited = refusal(
  'Too many requests.',
  (milliseconds: number) => {
    const retryAfter = Math.max(1, Math.ceil(milliseconds / 1000));
    return new AppError('rate_limited', 'Too many requests.', { code: 'rate_limited', retryAfter });
  },
  30_000,
);

const tryAgain = (problem: string, details?: Details, cause?: unknown) =>
  new AppError('unavailable', `${problem} Try again shortly.`, details, { cause });

export const unavailable = refusal(
  'The service is temporarily unavailable, or with the code `overloaded` this caller has too many requests at once.',
  (cause?: unknown) => tryAgain('The service cannot reach its database.', undefined, cause),
);

export const tookTooLong = (cause?: unknown) => tryAgain('The service took too long.', undefined, cause);

/** Another transaction held a lock for too long. Nothing was changed. */
export const lockedOut = () => tryAgain('Another change to the same data is taking too long.');

/** Queueing more than the process can handle would only make every response late. */
export const overloaded = () => tryAgain('The service is overloaded.', { code: 'overloaded' });

export const notFound = refusal(
  'There is no such record.',
  (what: string) => new AppError('not_found', `${what} not found.`),
  'User',
);

export function orNotFound<T>(what: string, record: T | undefined): T {
  if (record === undefined) throw notFound(what);
  return record;
}

export const internal = refusal(
  'An error in the service. The log has it under the request id.',
  (cause?: unknown) => new AppError('internal', 'Internal error.', undefined, { cause }),
);

/** A failure that the operator can fix. Its message says everything, so it is shown without a stack. */
export class OperatorError extends Error {}
