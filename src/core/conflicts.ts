import { AppError, type ErrorCode, refusal } from './errors.ts';

/** A refusal with a `details.code` of its own, which clients rely on. */
export type Conflict<D extends object = never> = ReturnType<typeof conflict<D>>;

interface Texts<D> {
  summary: string;
  message: (details: D) => string;
  /** The details in the OpenAPI document, and those of an error that is made without details. */
  example: D;
  /** The names of the details that some callers do not get. */
  optional?: string[];
  /** The code of the error, if GraphQL clients need one that is more precise than `conflict`. */
  as?: ErrorCode;
}

/** Makes a 409 that is the same for all operations that answer with it. */
export const conflict = <D extends object>(
  code: string,
  { summary, message, example, optional = [], as = 'conflict' }: Texts<D>,
) => {
  const error = (details: D = example) => new AppError(as, message(details), { code, ...details });
  return Object.assign(refusal(summary, error, example), { code, optional });
};
