import type { RouteOptions } from 'fastify';
import { serviceName } from '#schemas/name.ts';

const text = { type: 'string' };
const count = { type: 'integer' };
/** A header that is in every response that lists it. */
const required = (schema: object, description: string, example: unknown) => ({
  description,
  schema,
  example,
  required: true,
});

export const headers = {
  RequestId: required(
    text,
    'Identifies this request in the log. A valid one from the client is kept.',
    '0b4c1f9e-8f43-4f0e-9d0b-6a3f9a0e7d11',
  ),
  RateLimitLimit: required(count, 'Requests allowed in each window.', 300),
  RateLimitRemaining: required(count, 'Requests left in this window.', 299),
  RateLimitReset: required(count, 'Seconds until the window ends.', 60),
  WWWAuthenticate: required(
    text,
    'How to authenticate, and what was wrong (RFC 6750).',
    `Bearer realm="${serviceName}", error="insufficient_scope", scope="write"`,
  ),
  RetryAfter: required(count, 'Seconds to wait before a retry.', 1),
  Location: required(text, 'The path of the record.', '/api/users/019aa5d0-7c2e-7d4f-9b1a-3f6c2f1e8a90'),
  ETag: required(
    text,
    'Identifies this state of the record (its `version`), or of the list. For `If-Match` and `If-None-Match`.',
    '"1"',
  ),
  IdempotencyReplayed: {
    description: '`true` when the request was sent before with this `Idempotency-Key`.',
    schema: text,
    example: 'true',
  },
  PreferenceApplied: {
    description: 'The preference that was followed (RFC 7240).',
    schema: text,
    example: 'return=minimal',
  },
  Link: {
    description:
      'The `first`, `prev`, `next` and `last` page (RFC 8288); with cursors there is no `last`. At most 2,048 characters: with a long query it has only `prev` and `next`, or is absent.',
    schema: text,
  },
};

/** The headers, with the list at this path as an example. */
export const headersFor = (path: string) => ({
  ...headers,
  Link: { ...headers.Link, example: `</api/${path}?page=2&limit=20>; rel="next"` },
});

/** References to these headers. */
export const referToHeaders = (...names: string[]) =>
  Object.fromEntries(
    names.map(name => [name, { $ref: `#/components/headers/${name.replace(/^X-|-/g, '')}` }]),
  );
export const always = referToHeaders('X-Request-Id');
export const limitHeaders = referToHeaders('RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset');

/** A request header. It has no example, because the page at `/docs` would send it. */
const parameter = (name: string, description: string, schema: object = text) => ({
  name,
  in: 'header',
  description,
  schema,
});

/** The request headers that operations have in common. */
export const parameters = {
  IfNoneMatch: parameter(
    'If-None-Match',
    'The `ETag` of what the client has, such as `"1"`, several, or `*`. If it is unchanged, the response is a 304 without a body.',
  ),
  IfMatch: parameter(
    'If-Match',
    'The `ETag` of the record that the client has read, such as `"1"`, several, or `*`. If the record was changed since, the response is a 412 and nothing is written.',
  ),
  IdempotencyKey: parameter(
    'Idempotency-Key',
    'Any new text, such as a UUID. The same request sent again with the same key, within 24 hours, takes effect once and gets the same response.',
    { type: 'string', minLength: 1, maxLength: 255, pattern: '^[!-~]+$' },
  ),
  Prefer: parameter('Prefer', 'With `return=minimal`, a success is a 204 without the record.'),
};

/** What an operation does with the versions of records and with repeated requests. */
export function routeFeatures(route: RouteOptions, isList: boolean) {
  const { method, config = {} } = route;
  const { transport, versioned = false, idempotencyKey: repeatable = false, rateLimit } = config;
  const writes = method !== 'GET';
  return {
    isList,
    isLimited: rateLimit !== false,
    /** Has an `ETag`, and a 304. */
    cached: isList || (versioned && !writes),
    /** Has an `ETag` of one record. */
    tagged: versioned && method !== 'DELETE',
    /** Writes a record that the client may have read. */
    conditional: versioned && ['PUT', 'PATCH', 'DELETE'].includes(String(method)),
    /** May answer without the record. */
    minimal: versioned && writes && method !== 'DELETE',
    repeatable,
    /** Refuses a condition that is not met. */
    mayExclude: versioned || isList || (writes && transport === undefined),
  };
}
type Features = ReturnType<typeof routeFeatures>;

export function headerParameters({ cached, conditional, minimal, repeatable }: Features) {
  const taken = { IfNoneMatch: cached, IfMatch: conditional, IdempotencyKey: repeatable, Prefer: minimal };
  const names = Object.entries(taken).flatMap(([name, isTaken]) => (isTaken ? name : []));
  return names.map(name => ({ $ref: `#/components/parameters/${name}` }));
}

/** The headers of a response with this status. */
export function responseHeaders(status: string, features: Features) {
  const { isList, isLimited, cached, tagged, minimal, repeatable } = features;
  const isSuccess = Number(status) < 400;
  return {
    ...always,
    // A request that is shed with a 503 was not counted.
    ...(isLimited && status !== '503' && limitHeaders),
    // GraphQL describes its own 409: a request with the same key is still running.
    ...((status === '503' || status === '409') && referToHeaders('Retry-After')),
    ...((status === '201' || (minimal && status === '204')) && referToHeaders('Location')),
    ...((cached || tagged) && isSuccess && referToHeaders('ETag')),
    ...(minimal && isSuccess && referToHeaders('Preference-Applied')),
    ...(repeatable && isSuccess && referToHeaders('Idempotency-Replayed')),
    ...(isList && referToHeaders('Link')),
  };
}
