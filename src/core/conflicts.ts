import { AppError, type ErrorCode } from './errors.ts';

/** A 409 by its `details.code`, which clients rely on: the error, and what the OpenAPI document says of it. */
export interface Conflict<D extends object = object> {
  code: string;
  summary: string;
  /** The details that some callers do not get. */
  optional?: string[];
  /** With the details of the example when there are no others. */
  error(details?: D): AppError;
}

interface Texts<D> {
  summary: string;
  message: (details: D) => string;
  /** An error that a constraint of the database raised may lack its members. */
  example: D;
  optional?: string[];
  /** For an error that GraphQL has a code for. */
  as?: ErrorCode;
}

export const conflict = <D extends object>(
  code: string,
  { summary, message, example, optional = [], as = 'conflict' }: Texts<D>,
): Conflict<D> => ({
  code,
  summary,
  optional,
  error: (details = example) => new AppError(as, message(details), { code, ...details }),
});
