import type { FastifyRequest } from 'fastify';
import { type ASTNode, GraphQLError, type GraphQLResolveInfo, responsePathAsArray } from 'graphql';
import { truncate } from '../../src/core/text.ts';
import { explain } from '../../src/services/refusals.ts';
import { logFailure } from '../http/errors.ts';
import { extensionsOf, renamed } from './codes.ts';

/** A document that is refused before any of it runs. */
export class DocumentError extends Error {
  readonly errors: readonly GraphQLError[];
  /** Whatever the media type is; without it, the status depends on the media type. */
  readonly status: number | undefined;

  constructor(errors: readonly GraphQLError[], status?: number) {
    super(errors[0]?.message);
    this.errors = errors;
    this.status = status;
  }
}

export const refuse = (code: string, message: string, status?: number) =>
  new DocumentError([new GraphQLError(message, { extensions: { code } })], status);

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
  return new GraphQLError(`Too many ${what}: ${value}, but at most ${maximum} are allowed.`, {
    nodes: node,
    extensions: { code, value, maximum, ...(path && { path }) },
  });
}

/** For a list that has more records than may be read at once. */
export const truncated = (maximum: number, info: GraphQLResolveInfo) =>
  new GraphQLError(
    `The list has more than ${maximum} records; these are the first. Use page and limit to read the rest.`,
    {
      nodes: info.fieldNodes,
      path: responsePathAsArray(info.path),
      extensions: { code: 'LIST_TRUNCATED', maximum },
    },
  );

/** The errors as a caller sees them. Internal ones go to the log instead. */
export const publicErrors = (errors: readonly GraphQLError[], request: FastifyRequest) =>
  errors.map(error => {
    const { message, locations, path } = error;
    const origin = { ...(locations && { locations }), ...(path && { path }) };
    // With a code: one of ours, or one about the document. Both are written for callers.
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
      extensions: { ...extensionsOf(known), requestId: request.id },
    };
  });

/**
 * Whether it is the client's mistake: null for a required argument, from a nullable variable with a default, is found
 * only when the field runs. Errors about our own values name no place in the document.
 */
function isMistake(error: GraphQLError): boolean {
  const { originalError = error } = error;
  return originalError instanceof GraphQLError && originalError.nodes !== undefined;
}
