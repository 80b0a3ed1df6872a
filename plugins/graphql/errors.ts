import type { FastifyRequest } from 'fastify';
import { type ASTNode, GraphQLError, type GraphQLResolveInfo, responsePathAsArray } from 'graphql';
import { logFailure } from '#plugins/http/errors.ts';
import type { Violation } from '#schemas/parts/error.ts';
import { type AppError, type ErrorCode, isLimit, tooMuch } from '#src/core/errors.ts';
import { truncate } from '#src/core/text.ts';
import { explain } from '#src/database/databaseErrors.ts';

/** A document that is refused before any of it runs. The status depends on the media type. */
export class DocumentError extends Error {
  readonly errors: readonly GraphQLError[];

  constructor(errors: readonly GraphQLError[]) {
    super(errors[0]?.message);
    this.errors = errors;
  }
}

export const refuse = (code: string, message: string) =>
  new DocumentError([new GraphQLError(message, { extensions: { code } })]);

/** The names that GraphQL clients expect. Every other code is the same as in REST, in capitals. */
const renamed: Partial<Record<ErrorCode, string>> = {
  invalid: 'BAD_USER_INPUT',
  internal: 'INTERNAL_SERVER_ERROR',
  version_mismatch: 'CONFLICT',
};

/** The graphql library repeats names and values of the caller, however long they are. */
const longestMessage = 500;

/** Adds a code to errors of the graphql library, which have none. */
export const withCode = (code: string, errors: readonly GraphQLError[]) =>
  errors.map(
    ({ message, nodes = null, source = null, positions = null }) =>
      new GraphQLError(truncate(message, longestMessage), { nodes, source, positions, extensions: { code } }),
  );

export function limitError(
  code: string,
  what: string,
  value: number,
  maximum: number,
  { path, node = null }: { path?: (string | number)[]; node?: ASTNode | null } = {},
): GraphQLError {
  const { message, details } = tooMuch([code, what, maximum], value);
  return new GraphQLError(message, { nodes: node, extensions: { ...details, ...(path && { path }) } });
}

/** The warning for a list that has more records than may be read at once. */
export const truncationWarning = (maximum: number, info: GraphQLResolveInfo) =>
  new GraphQLError(
    `The list has more than ${maximum} records; these are the first. Use page and limit to read the rest.`,
    {
      nodes: info.fieldNodes,
      path: responsePathAsArray(info.path),
      extensions: { code: 'LIST_TRUNCATED', maximum },
    },
  );

/** The errors as a caller sees them. The cause of an internal error goes to the log instead. */
export const publicErrors = (errors: readonly GraphQLError[], request: FastifyRequest) =>
  errors.map(error => {
    const { message, locations, path } = error;
    const origin = { ...(locations && { locations }), ...(path && { path }) };
    // An error with a code is one of ours or one about the document. Both are written for callers.
    if (typeof error.extensions.code === 'string') {
      const limited = 'maximum' in error.extensions && { path };
      return { message, ...origin, extensions: { ...limited, ...error.extensions, requestId: request.id } };
    }
    if (isMistake(error)) {
      const extensions = { code: renamed.invalid, requestId: request.id };
      return { message: truncate(message, longestMessage), ...origin, extensions };
    }
    const known = explain(error.originalError ?? error);
    logFailure(request, known, { path: path?.join('.') });
    return {
      message: known.message,
      ...origin,
      extensions: { ...extensionsOf(known, path), requestId: request.id },
    };
  });

/**
 * The code and the details of an error. Details that only repeat the code are left out. A path in a REST body
 * becomes one in the argument `input` of a field.
 */
function extensionsOf({ code, details }: AppError, at: GraphQLError['path']) {
  const [name, body] = [renamed[code] ?? code.toUpperCase(), at ? '/input' : ''];
  if (Array.isArray(details))
    return { code: name, details: details.map(violation => withPath(violation, body)) };
  if (isLimit(details)) return { path: at, ...details };
  if (details.code === code && Object.keys(details).length === 1) return { code: name };
  const { path, version } = details;
  const extensions = { code: name, ...(version !== undefined && { version }) };
  return { ...extensions, details: typeof path === 'string' ? { ...details, path: body + path } : details };
}

const withPath = ({ in: part, path, message }: Violation, body: string) => ({
  path: part === 'body' ? body + path : path,
  message,
});

/**
 * Whether an error is the client's mistake. Null for a required argument, from a nullable variable with a default, is
 * found only when the field runs. Errors about our own values name no place in the document.
 */
function isMistake(error: GraphQLError): boolean {
  const { originalError = error } = error;
  return originalError instanceof GraphQLError && originalError.nodes !== undefined;
}
