import type { Violation } from '../../schemas/error.ts';

/**
 * Every error code that a client can get, with its HTTP status. 401: we do not know the caller. 403: we do, and they
 * may not.
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

/** The code of an error, what there is too much of, and how much may be. */
export type Limit = readonly [code: string, what: string, maximum: number];

/** An operation takes more than any may. */
export const tooMuch = ([code, what, maximum]: Limit, value: number) =>
  new AppError('bad_request', `Too many ${what}: ${value}, but at most ${maximum} are allowed.`, {
    code,
    value,
    maximum,
  });
export const isLimit = (details: Details) => 'value' in details && 'maximum' in details;

export const invalid = (violations: Violation[]) =>
  new AppError('invalid', 'The input is not valid.', violations);

export const invalidToken = (message: string) =>
  new AppError('unauthenticated', message, { code: 'unauthenticated', reason: 'invalid_token' });

export const rateLimited = (milliseconds: number) =>
  new AppError('rate_limited', 'Too many requests.', {
    code: 'rate_limited',
    retryAfter: Math.max(1, Math.ceil(milliseconds / 1000)),
  });

const tryAgain = (problem: string, details?: Details, cause?: unknown) =>
  new AppError('unavailable', `${problem} Try again shortly.`, details, { cause });

export const unavailable = (cause?: unknown) =>
  tryAgain('The service cannot reach its database.', undefined, cause);

export const tookTooLong = (cause?: unknown) => tryAgain('The service took too long.', undefined, cause);

/** Another transaction held a lock for too long. Nothing was changed. */
export const lockedOut = () => tryAgain('Another change to the same data is taking too long.');

/** Queueing more than the process can handle would only make every response late. */
export const overloaded = () => tryAgain('The service is overloaded.', { code: 'overloaded' });

export const notFound = (what: string) => new AppError('not_found', `${what} not found.`);

export function orNotFound<T>(what: string, record: T | undefined): T {
  if (record === undefined) throw notFound(what);
  return record;
}

/** A failure that the operator can fix. Its message says everything, so it is shown without a stack. */
export class OperatorError extends Error {}

/** SQLSTATEs about the server, the account or the database, not about a statement. */
const serverFailure = /^((08|28|3D|53|57P|58)\w+|25006)$/;
/** Codes of the operating system, of TLS, and of the driver. */
const connectionFailure = /^(CONN\w+|E(?!RR_)[A-Z_]{3,}|\w*(CERT|_TLS_|_SSL_|LEAF_SIGNATURE)\w*)$/;

/** What the operator should read, in one line; undefined for a bug, which needs its stack. */
export function reasonOf(error: unknown): string | undefined {
  if (error instanceof OperatorError) return error.message;
  if (error instanceof AppError) return [error.message, ...violationsOf(error)].join(' ');
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const { code, message } = cause as Error & { code?: unknown };
    if (typeof code !== 'string') continue;
    if (code === '42501')
      return `The role of DATABASE_URL lacks a right: ${message}. \`npm run doctor\` names the missing grants.`;
    if (serverFailure.test(code)) return `The database cannot be used: ${message}.`;
    // The message is empty when a host name has several addresses and none answers.
    if (connectionFailure.test(code)) return message || code;
  }
  return undefined;
}

/** What the log has about a failure: its reason in words, or the stack of a bug. */
export function reasonForLog(error: unknown): { reason: string } | { err: unknown } {
  const reason = reasonOf(error);
  return reason === undefined ? { err: error } : { reason };
}

const violationsOf = ({ details }: AppError) =>
  Array.isArray(details) ? details.map(({ path, message }) => `${path.slice(1)} ${message}.`) : [];
