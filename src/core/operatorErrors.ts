import { AppError } from './errors.ts';

/** A failure that the operator can fix. The message is one line that says all they need, so no stack is shown. */
export class OperatorError extends Error {}

/** SQLSTATEs that speak of the server, the account or the database, and not of a statement that we wrote. */
const serverRefuses = /^(08|28|3D|53|57P)\w+$|^42501$/;
/** Codes of the operating system, of TLS, and of the driver when there was no answer. */
const system = /^(CONN\w+|E(?!RR_)[A-Z_]{3,}|\w*(CERT|_TLS_|_SSL_|LEAF_SIGNATURE)\w*)$/;

/** Why something failed, in one line for the operator; undefined for a bug, which needs its stack. */
export function reasonOf(error: unknown): string | undefined {
  if (error instanceof OperatorError) return error.message;
  if (error instanceof AppError) return [error.message, ...violationsOf(error)].join(' ');
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const { code, message } = cause as Error & { code?: unknown };
    if (typeof code !== 'string') continue;
    if (serverRefuses.test(code)) return `The database cannot be used: ${message}.`;
    // Where a name has several addresses, the message is empty.
    if (system.test(code)) return message || code;
  }
  return undefined;
}

const violationsOf = ({ details }: AppError) =>
  Array.isArray(details) ? details.map(({ path, message }) => `${path.slice(1)} ${message}.`) : [];
