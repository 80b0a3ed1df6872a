import { AppError, type ErrorCode } from './errors.ts';

/** A 409 by its `details.code`, which clients rely on: the error, and what the OpenAPI document says of it. */
export type Conflict<D extends object = object> = ReturnType<typeof conflict<D>>;

interface Texts<D> {
  summary: string;
  message: (details: D) => string;
  /** An error that a constraint of the database raised may lack its members. */
  example: D;
  /** The details that some callers do not get. */
  optional?: string[];
  /** For an error that GraphQL has a code for. */
  as?: ErrorCode;
}

export const conflict = <D extends object>(
  code: string,
  { summary, message, example, optional = [], as = 'conflict' }: Texts<D>,
) => ({
  code,
  summary,
  optional,
  /** With the details of the example when there are no others. */
  error(details = example) {
    return new AppError(as, message(details), { code, ...details });
  },
});
