import type { Violation } from '../../schemas/error.ts';
import type { AppError, ErrorCode } from '../../src/core/errors.ts';

export const mediaTypes = ['application/json', 'application/graphql-response+json'] as const;

/** The names that GraphQL clients expect. Every other code is the same as in REST, in capitals. */
export const renamed: Partial<Record<ErrorCode, string>> = {
  invalid: 'BAD_USER_INPUT',
  internal: 'INTERNAL_SERVER_ERROR',
  version_mismatch: 'CONFLICT',
};

/** The code and the details of an error. Details that only repeat the code are left out. */
export function extensionsOf({ code, details }: AppError, body = '/input') {
  const name = renamed[code] ?? code.toUpperCase();
  if (Array.isArray(details))
    return { code: name, details: details.map(violation => withPath(violation, body)) };
  if (details.code === code && Object.keys(details).length === 1) return { code: name };
  const { path, version } = details;
  const extensions = { code: name, ...(version !== undefined && { version }) };
  return { ...extensions, details: typeof path === 'string' ? { ...details, path: body + path } : details };
}

/** The body of REST is the argument `input` here. */
const withPath = ({ in: part, path, message }: Violation, body: string) => ({
  path: part === 'body' ? body + path : path,
  message,
});
