import type { Conflict } from '../../src/core/conflicts.ts';
import { type ErrorCode, statusOf } from '../../src/core/errors.ts';
import { capitalize } from '../../src/core/text.ts';
import { inProgress } from '../../src/services/idempotency.ts';
import { errorSchema, schemaNameOf } from './errorSchemas.ts';
import type { ExampleRequest } from './exampleRequest.ts';
import { always, header, headers, limitHeaders } from './headers.ts';

/**
 * Description, message and details of each, if they differ. A 405 belongs to no operation, and each operation has its
 * own 409.
 */
const described: Partial<Record<ErrorCode, [string, string?, unknown?]>> = {
  invalid: [
    'The input is not valid: `details` lists what is wrong. For a body that cannot be parsed it has a `code` instead.',
    'The input is not valid.',
    [{ in: 'query', path: '/pretty', message: 'is not known' }],
  ],
  unauthenticated: [
    'The credentials are missing, invalid, expired or revoked.',
    'Credentials are required: send `Authorization: Bearer <key>`.',
  ],
  forbidden: [
    'The caller lacks the scope that `details` names; with the code `not_yours` the record belongs to somebody else, and with `no_person` the token to no user yet.',
    'The scope "write" is missing.',
    { code: 'forbidden', scope: 'write' },
  ],
  not_found: ['There is no such record.', 'User not found.'],
  timeout: ['The request did not arrive in time.'],
  too_large: ['The body is too large.'],
  unsupported_media_type: [
    'The body is not JSON.',
    'The media type of the body is not supported. Send application/json.',
  ],
  version_mismatch: [
    '`If-Match` or `If-None-Match` excludes what is there. For a record, `ETag` and `details.version` are those of now.',
    'The record is at version 3, which If-Match excludes. Read it again.',
    { code: 'version_mismatch', version: 3 },
  ],
  idempotency_key_reused: [
    'The `Idempotency-Key` was sent with another request.',
    'This Idempotency-Key was sent with another request. Each request needs a new key.',
  ],
  rate_limited: ['Too many requests.', 'Too many requests.', { code: 'rate_limited', retryAfter: 30 }],
  gone: [
    'The changes after this position are not kept any more: read all records again.',
    'The changes after this position are not kept any more. Read all records again.',
  ],
  headers_too_large: ['The headers are too large.'],
  internal: ['An error in the service. The log has it under the request id.', 'Internal error.'],
  unavailable: [
    'The service is temporarily unavailable.',
    'The service cannot reach its database. Try again shortly.',
  ],
};

const errorHeaders: Partial<Record<ErrorCode, object>> = {
  unauthenticated: { 'WWW-Authenticate': header('WWWAuthenticate') },
  forbidden: { 'WWW-Authenticate': { ...headers.WWWAuthenticate, required: false } },
  version_mismatch: { ETag: { ...headers.ETag, required: false } },
  rate_limited: { ...limitHeaders, 'Retry-After': header('RetryAfter') },
  unavailable: { 'Retry-After': header('RetryAfter') },
};

/** A shared error; one of an operation has a message or details of its own. */
function errorResponse(code: ErrorCode, own: object = {}) {
  const [description = '', message = description, details = { code }] = described[code] ?? [];
  const example = { error: { message, status: statusOf[code], details, ...own } };
  const content = { 'application/json': { schema: errorSchema([code]), example } };
  return { description, headers: { ...always, ...errorHeaders[code] }, content };
}

/** The codes of the shared errors. */
export const sharedErrors = Object.keys(described) as ErrorCode[];

export const errorResponses = Object.fromEntries(
  sharedErrors.map(code => [schemaNameOf(code), errorResponse(code)]),
);

/** The 400 and the 404 of an operation, if they have more to say than the shared ones. */
export function ownErrors({ body, query }: ExampleRequest, record: string | undefined) {
  const [member] = Object.keys(body ?? {});
  const name = member ?? query[0];
  const mistake = name !== undefined && {
    in: member === undefined ? 'query' : 'body',
    path: `/${misspelt(name)}`,
    message: `is not known; did you mean "${name}"?`,
  };
  return {
    ...(mistake && { 400: errorResponse('invalid', { details: [mistake] }) }),
    ...(record && { 404: errorResponse('not_found', { message: `${capitalize(record)} not found.` }) }),
  };
}

/** With two letters in the wrong order. */
const misspelt = (name: string) => name.replace(/^(..)(.)(.)/, '$1$3$2');

/** An example for each of these conflicts. */
export const conflictExamples = (conflicts: Conflict[]) =>
  Object.fromEntries(
    conflicts.map(({ code, summary, error }) => {
      const { message, details } = error();
      return [code, { summary, value: { error: { message, status: statusOf.conflict, details } } }];
    }),
  );

/** Not with every conflict. */
const retryAfter = { ...headers.RetryAfter, required: false };

function conflictResponse(conflicts: readonly Conflict[]) {
  const examples = Object.fromEntries(
    conflicts.map(({ code }) => [code, { $ref: `#/components/examples/${code}` }]),
  );
  const schema = errorSchema(conflicts.map(({ code }) => code));
  return {
    description: 'The request conflicts with stored data; `details.code` says how.',
    headers: { ...always, ...(conflicts.includes(inProgress) && { 'Retry-After': retryAfter }) },
    content: { 'application/json': { schema, examples } },
  };
}

export const errorResponsesOf = (
  codes: ErrorCode[],
  conflicts: readonly Conflict[],
): Record<string, object> => ({
  ...(conflicts.length > 0 && { 409: conflictResponse(conflicts) }),
  ...Object.fromEntries(
    codes.map(code => [statusOf[code], { $ref: `#/components/responses/${schemaNameOf(code)}` }]),
  ),
});
