import type { FastifyRequest } from 'fastify';
import { type ASTNode, GraphQLError, type GraphQLFormattedError } from 'graphql';
import type { Violation } from '../../schemas/error.ts';
import type { AppError, ErrorCode } from '../../src/core/errors.ts';
import { explain } from '../../src/services/refusals.ts';
import { logFailure } from '../http/errors.ts';

/** The names that GraphQL clients know. Every other code keeps its own, in capitals. */
const special: Partial<Record<ErrorCode, string>> = {
  invalid: 'BAD_USER_INPUT',
  internal: 'INTERNAL_SERVER_ERROR',
};

/** A document that is refused before any of it runs. */
export class DocumentError extends Error {
  readonly errors: readonly GraphQLError[];
  /** What the media type makes of it, or always this. */
  readonly status: number | undefined;

  constructor(errors: readonly GraphQLError[], status?: number) {
    super(errors[0]?.message);
    this.errors = errors;
    this.status = status;
  }
}

export const refuse = (code: string, message: string, status?: number) =>
  new DocumentError([new GraphQLError(message, { extensions: { code } })], status);

/** The same errors under a code, for those that the graphql library makes without one. */
export const withCode = (code: string, errors: readonly GraphQLError[]) =>
  errors.map(
    ({ message, nodes = null, source = null, positions = null }) =>
      new GraphQLError(message, { nodes, source, positions, extensions: { code } }),
  );

export function limitError(
  code: string,
  what: string,
  value: number,
  maximum: number,
  place: { path?: (string | number)[]; node?: ASTNode } = {},
): GraphQLError {
  return new GraphQLError(`Too many ${what}: ${value}, where ${maximum} are allowed.`, {
    nodes: place.node ?? null,
    extensions: { code, value, maximum, ...(place.path && { path: place.path }) },
  });
}

/** The errors as a caller sees them. What is not meant for callers goes to the log, whole. */
export function publicErrors(errors: readonly GraphQLError[], request: FastifyRequest) {
  return errors.map(error => {
    const { message, locations, path, extensions } = publicError(error, request);
    return {
      message,
      ...(locations && { locations }),
      ...(path && { path }),
      extensions: { ...extensions, requestId: request.id },
    };
  });
}

function publicError(error: GraphQLError, request: FastifyRequest): GraphQLFormattedError {
  const { locations, path } = error;
  const place = { ...(locations && { locations }), ...(path && { path }) };
  // Ours, or one of the library about the document: both are written for callers.
  if (typeof error.extensions?.code === 'string') {
    const extensions = 'maximum' in error.extensions ? { path, ...error.extensions } : error.extensions;
    return { message: error.message, ...place, extensions };
  }
  const known = explain(error.originalError ?? error);
  logFailure(request, known, { path: path?.join('.') });
  return { message: known.message, ...place, extensions: extensionsOf(known) };
}

/** What a client may act on. A code that only repeats the name of the error is left out. */
export function extensionsOf({ code, details }: AppError, body = '/input') {
  const name = special[code] ?? code.toUpperCase();
  if (Array.isArray(details)) return { code: name, details: details.map(one => pointed(one, body)) };
  return details.code === code && Object.keys(details).length === 1
    ? { code: name }
    : {
        code: name,
        details: typeof details.path === 'string' ? { ...details, path: body + details.path } : details,
      };
}

/** REST names the parts of a request; in an operation the body is the argument `input`. */
const pointed = ({ in: part, path, message }: Violation, body: string) => ({
  path: part === 'body' ? body + path : path,
  message,
});
