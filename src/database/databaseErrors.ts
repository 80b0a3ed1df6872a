import { AppError, internal, lockedOut, OperatorError, tookTooLong, unavailable } from '#src/core/errors.ts';

const canceled = '57014';
const sqlState = /^[0-9A-Z]{5}$/;
/** SQLSTATEs about the server, the account or the database, not about a statement. 25006: a standby is read-only. */
const ofServer = /^((08|28|3D|53|57P|58)\w{2,3}|25006)$/;
/** Codes for a missing answer, such as CONNECTION_CLOSED, EPIPE and EAI_AGAIN. */
const noAnswer = /^(CONN\w*|E(?!RR_)[A-Z_]{3,})$/;

/** A Citus node that loses another node reports an internal error with the message of its own driver. */
const lostNode =
  /^(SSL (SYSCALL )?error|server closed the connection|could not (send|receive) data|lost connection|failure on connection)/;
const internalError = 'XX000';
const connectionFailure = '08006';

/** Why a statement failed: the SQLSTATE or the code of the driver. Undefined if no database caused the error. */
export function databaseFailure(error: unknown) {
  // Errors of others may be the cause of each other.
  for (let cause = error, depth = 0; cause instanceof Error && depth < 10; cause = cause.cause, depth++) {
    const { code, constraint_name, constraint } = cause as Error & Record<string, unknown>;
    if (typeof code === 'string' && (sqlState.test(code) || noAnswer.test(code)))
      return {
        code: code === internalError && lostNode.test(cause.message) ? connectionFailure : code,
        constraint: (constraint_name ?? constraint) as string | undefined,
      };
  }
  return undefined;
}

/** Whether the server was out of reach, shutting down or full, or let nobody in: a later try may succeed. */
export function isOutage(error: unknown): boolean {
  const code = databaseFailure(error)?.code ?? '';
  return noAnswer.test(code) || ofServer.test(code) || /^40/.test(code) || temporary.has(code);
}
const temporary = new Set([
  canceled,
  '25P03', // ended, because this process stood still in the middle of a transaction
  '25P04', // ended, because the transaction took too long
]);

/** Whether the server refuses the role or has no such database. At startup, this means wrong settings. */
export const isDenied = (error: unknown) => /^(28|3D)/.test(databaseFailure(error)?.code ?? '');

/** Whether a statement was ended because it, or its wait for a connection, took too long. It has changed nothing. */
export const isTooSlow = (error: unknown) => tooSlow.has(databaseFailure(error)?.code ?? '');
const tooSlow = new Set([canceled, '25P03', '25P04', 'CONNECTION_WAIT_TIMEOUT']);

const lockNotAvailable = '55P03';

/** The error of a write that did not get its turn. */
export class LockedOut extends Error {
  readonly code = lockNotAvailable;
  readonly turn: string;

  constructor(turn: string) {
    super('Another write of this process takes too long.');
    this.turn = turn;
  }
}

/** Whether a write waited too long for others. It has changed nothing. */
export const isLockedOut = (error: unknown) => databaseFailure(error)?.code === lockNotAvailable;

/** Turns any failure into the error type that clients see. Unknown failures become internal errors. */
export function explain(error: unknown): AppError {
  if (error instanceof AppError) return error;
  if (isTooSlow(error)) return tookTooLong(error);
  if (isOutage(error)) return unavailable(error);
  return isLockedOut(error) ? lockedOut() : internal(error);
}

/** Error codes of TLS. */
const insecure = /CERT|_TLS_|_SSL_|LEAF_SIGNATURE/;

/** What the operator should read, in one line; undefined for a bug, which needs its stack. */
export function operatorReason(error: unknown): string | undefined {
  if (error instanceof OperatorError) return error.message;
  if (error instanceof AppError) return [error.message, ...violationsOf(error)].join(' ');
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const { code, message } = cause as Error & { code?: unknown };
    if (typeof code !== 'string') continue;
    if (code === '42501')
      return `The role of DATABASE_URL lacks a right: ${message}. \`npm run doctor\` names the missing grants.`;
    if (ofServer.test(code)) return `The database cannot be used: ${message}.`;
    // The message is empty when a host name has several addresses and none answers.
    if (noAnswer.test(code) || insecure.test(code)) return message || code;
  }
  return undefined;
}

/** What the log says about a failure: its reason in words, or the stack of a bug. */
export function reasonForLog(error: unknown): { reason: string } | { err: unknown } {
  const reason = operatorReason(error);
  return reason === undefined ? { err: error } : { reason };
}

const violationsOf = ({ details }: AppError) =>
  Array.isArray(details) ? details.map(({ path, message }) => `${path.slice(1)} ${message}.`) : [];
