import { AppError, type ErrorCode, refusal } from './errors.ts';

/** A refusal by its `details.code`, which clients rely on. */
export type Conflict<D extends object = never> = ReturnType<typeof conflict<D>>;

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

/** A 409, which is the same for all operations that answer it. */
export const conflict = <D extends object>(
  code: string,
  { summary, message, example, optional = [], as = 'conflict' }: Texts<D>,
) => {
  const error = (details: D = example) => new AppError(as, message(details), { code, ...details });
  return Object.assign(refusal(summary, error, example), { code, optional });
};
