import { AppError } from './errors.ts';

/** A failure that the operator can fix. Its message says everything, so it is shown without a stack. */
export class OperatorError extends Error {}

/** SQLSTATEs about the server, the account or the database rather than about a statement of ours. */
const serverFailure = /^(08|28|3D|53|57P)\w+$|^42501$/;
/** Codes of the operating system, of TLS, and of the driver when it got no answer. */
const connectionFailure = /^(CONN\w+|E(?!RR_)[A-Z_]{3,}|\w*(CERT|_TLS_|_SSL_|LEAF_SIGNATURE)\w*)$/;

/** What the operator should read, in one line; undefined for a bug, which needs its stack. */
export function reasonOf(error: unknown): string | undefined {
  if (error instanceof OperatorError) return error.message;
  if (error instanceof AppError) return [error.message, ...violationsOf(error)].join(' ');
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const { code, message } = cause as Error & { code?: unknown };
    if (typeof code !== 'string') continue;
    if (serverFailure.test(code)) return `The database cannot be used: ${message}.`;
    // The message is empty when a host name has several addresses and none answers.
    if (connectionFailure.test(code)) return message || code;
  }
  return undefined;
}

const violationsOf = ({ details }: AppError) =>
  Array.isArray(details) ? details.map(({ path, message }) => `${path.slice(1)} ${message}.`) : [];
