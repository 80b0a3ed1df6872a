import { type TProperties, type TSchema, Type } from '@sinclair/typebox';
import { arrivedTooLate, headersTooLarge, tooLarge, unsupportedMediaType } from '#plugins/http/errors.ts';
import { ErrorEnvelope, Violation } from '#schemas/parts/error.ts';
import { scopes } from '#schemas/service/apiKey.ts';
import { missingCredentials, missingScope } from '#src/access/need.ts';
import { positionGone } from '#src/changes/position.ts';
import { versionMismatch } from '#src/core/conditions.ts';
import type { Conflict } from '#src/core/conflicts.ts';
import {
  type AppError,
  type ErrorCode,
  internal,
  invalid,
  notFound,
  type Refusal,
  rateLimited,
  statusByCode,
  unavailable,
} from '#src/core/errors.ts';
import { capitalize } from '#src/core/text.ts';
import { inProgress, keyReused } from '#src/records/idempotency.ts';
import type { ExampleRequest } from './exampleRequest.ts';
import { always, headers, limitHeaders, referToHeaders } from './headers.ts';

// Each status, and each code of a 409, has a schema of its own. With only the schema of `Error`, a client that is
// generated from the document could not know which codes an operation returns, or what comes with them.

const text = Type.String();
const words = (values: readonly string[]) => Type.Unsafe({ type: 'string', enum: values });
const reference = (name: string) => ({ $ref: `#/components/schemas/${name}` });

/** Details with one of these codes. */
const coded = (codes: readonly string[], members: TProperties = {}) =>
  Type.Object({ code: words(codes), ...members });

/** Adds the operation that was refused, if it was one of a batch. */
const refused = (codes: readonly string[], members: TProperties = {}) =>
  coded(codes, { ...members, operation: Type.Optional(Type.Integer()) });

/** The shared errors, in the order of the document. A 405 belongs to no operation; each operation has its own 409. */
const shared: Refusal[] = [
  invalid,
  missingCredentials,
  missingScope,
  notFound,
  arrivedTooLate,
  tooLarge,
  unsupportedMediaType,
  versionMismatch,
  keyReused,
  rateLimited,
  positionGone,
  headersTooLarge,
  internal,
  unavailable,
];
const sharedCodes = shared.map(({ example }) => example().code);
const errorBody = ({ message, code, details }: AppError) => ({
  error: { message, status: statusByCode[code], details },
});

const errorHeaders: Partial<Record<ErrorCode, object>> = {
  unauthenticated: referToHeaders('WWW-Authenticate'),
  forbidden: { 'WWW-Authenticate': { ...headers.WWWAuthenticate, required: false } },
  version_mismatch: { ETag: { ...headers.ETag, required: false } },
  rate_limited: { ...limitHeaders, ...referToHeaders('Retry-After') },
  unavailable: referToHeaders('Retry-After'),
};

/** The details of shared errors that have more than their code. */
const detailsByCode: Partial<Record<ErrorCode, object>> = {
  invalid: { anyOf: [{ type: 'array', items: reference(Violation.$id ?? '') }, coded(['bad_request'])] },
  unauthenticated: coded(['unauthenticated'], { reason: Type.Optional(text) }),
  forbidden: refused(['forbidden', 'not_yours', 'no_person'], {
    scope: Type.Optional(words(scopes)),
    path: Type.Optional(text),
    credential: Type.Optional(text),
  }),
  not_found: refused(['not_found', 'no_person']),
  version_mismatch: refused(['version_mismatch'], { version: Type.Optional(Type.Integer()) }),
  rate_limited: coded(['rate_limited'], { retryAfter: Type.Integer() }),
  unavailable: coded(['unavailable', 'overloaded', 'ending']),
};

/** The envelope with this status and these details. */
const envelope = (status: number, details: object) => {
  const { message } = ErrorEnvelope.properties.error.properties;
  const error = {
    type: 'object',
    additionalProperties: false,
    required: ['message', 'status', 'details'],
    properties: { message, status: { type: 'integer', enum: [status] }, details },
  };
  return { type: 'object', additionalProperties: false, required: ['error'], properties: { error } };
};

/** The schema of what an example shows. */
const schemaLike = (value: unknown): TSchema => {
  if (Array.isArray(value)) return Type.Unsafe({ type: 'array', items: schemaLike(value[0]) });
  return Type.Unsafe({ type: Number.isInteger(value) ? 'integer' : typeof value });
};

function conflictSchema(conflict: Conflict): object {
  const { code, ...members } = conflict.example().details as { code: string };
  const shapes = Object.entries(members).map(([name, value]) => {
    const shape = schemaLike(value);
    return [name, conflict.optional.includes(name) ? Type.Optional(shape) : shape];
  });
  return envelope(statusByCode.conflict, refused([code], Object.fromEntries(shapes)));
}

/** The name of an error in the document: its code in capitalized words. */
export const errorSchemaName = (code: string) =>
  code.replace(/(?:^|_)(\w)/g, (_, letter: string) => letter.toUpperCase());

/** The schemas of the shared errors and of the conflicts, by name. */
export const errorSchemas = (conflicts: readonly Conflict[]) =>
  Object.fromEntries([
    ...sharedCodes.map(code => [
      `${errorSchemaName(code)}Error`,
      envelope(statusByCode[code], detailsByCode[code] ?? coded([code])),
    ]),
    ...conflicts.map(conflict => [`${errorSchemaName(conflict.code)}Error`, conflictSchema(conflict)]),
  ]);

const referToError = (code: string) => reference(`${errorSchemaName(code)}Error`);

/** The response with a shared error; an operation may have its own example. */
function errorResponse({ summary }: Refusal, error: AppError) {
  const content = { 'application/json': { schema: referToError(error.code), example: errorBody(error) } };
  return { description: summary, headers: { ...always, ...errorHeaders[error.code] }, content };
}

export const errorResponses = Object.fromEntries(
  shared.map(error => [errorSchemaName(error.example().code), errorResponse(error, error.example())]),
);

/** The 400 and the 404 of an operation, if they have more to say than the shared ones. */
export function ownErrors({ body, query }: ExampleRequest, record: string | undefined) {
  const [member] = Object.keys(body ?? {});
  const name = member ?? query[0];
  const mistaken = (name: string): Violation => ({
    in: member === undefined ? 'query' : 'body',
    path: `/${misspelt(name)}`,
    message: `is not known; did you mean "${name}"?`,
  });
  return {
    ...(name !== undefined && { 400: errorResponse(invalid, invalid([mistaken(name)])) }),
    ...(record && { 404: errorResponse(notFound, notFound(capitalize(record))) }),
  };
}

/** Swaps the first two neighbours that differ, after the second letter: `name` becomes `naem`. */
const misspelt = (name: string) => name.replace(/^(...*?)(.)(?!\2)(.)/, '$1$3$2');

/** An example for each of these conflicts. */
export const conflictExamples = (conflicts: Conflict[]) =>
  Object.fromEntries(
    conflicts.map(conflict => [
      conflict.code,
      { summary: conflict.summary, value: errorBody(conflict.example()) },
    ]),
  );

function conflictResponse(conflicts: readonly Conflict[]) {
  const codes = conflicts.map(({ code }) => code);
  const examples = Object.fromEntries(codes.map(code => [code, { $ref: `#/components/examples/${code}` }]));
  const schemas = codes.map(referToError);
  const schema = schemas.length === 1 ? schemas[0] : { anyOf: schemas };
  // The header is optional: other conflicts of the operation lack it.
  const retryAfter = { 'Retry-After': { ...headers.RetryAfter, required: false } };
  return {
    description: 'The request conflicts with stored data; `details.code` says how.',
    headers: { ...always, ...(conflicts.includes(inProgress) && retryAfter) },
    content: { 'application/json': { schema, examples } },
  };
}

export const errorResponsesOf = (
  codes: ErrorCode[],
  conflicts: readonly Conflict[],
): Record<string, object> => ({
  ...(conflicts.length > 0 && { 409: conflictResponse(conflicts) }),
  ...Object.fromEntries(
    codes.map(code => [statusByCode[code], { $ref: `#/components/responses/${errorSchemaName(code)}` }]),
  ),
});
