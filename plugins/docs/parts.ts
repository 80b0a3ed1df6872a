import type { ErrorCode } from '../../src/core/errors.ts';
import { statusOf } from '../../src/core/errors.ts';

const optional = (schema: object, description: string, example: unknown) => ({
  description,
  schema,
  example,
});
/** A header that is there whenever an answer lists it. */
const header = (...parts: Parameters<typeof optional>) => ({ ...optional(...parts), required: true });
const text = { type: 'string' };
const count = { type: 'integer' };

/** The headers of replies, named once for the whole document. */
export const headers = {
  RequestId: header(
    text,
    'Names this request in the log. A sane one of the client is kept.',
    '0b4c1f9e-8f43-4f0e-9d0b-6a3f9a0e7d11',
  ),
  RateLimitLimit: header(count, 'Requests allowed in each window.', 300),
  RateLimitRemaining: header(count, 'Requests left in this window.', 299),
  RateLimitReset: header(count, 'Seconds until the window ends.', 60),
  WWWAuthenticate: header(
    text,
    'How to authenticate, and what was wrong (RFC 6750).',
    'Bearer realm="triport", error="insufficient_scope", scope="write"',
  ),
  RetryAfter: header(count, 'Seconds after which to try again.', 1),
  Location: header(
    text,
    'Where the new record can be read.',
    '/api/users/019aa5d0-7c2e-7d4f-9b1a-3f6c2f1e8a90',
  ),
  Link: optional(
    text,
    'The `first`, `prev`, `next` and `last` page (RFC 8288); by cursor there is no `last`. It has at most 2,048 characters: with a long query it names only `prev` and `next`, or is absent.',
    '</api/posts?page=2&limit=20>; rel="next"',
  ),
};

/** One header for both kinds of credential. The scope of an operation stands beside it, in `security`. */
export const securitySchemes = {
  bearer: {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: 'API key or JWT',
    description: 'An API key of this service (`triport_…`), or a JWT of the issuer it is set up with.',
  },
};

const link = (name: keyof typeof headers) => ({ $ref: `#/components/headers/${name}` });
const always = { 'X-Request-Id': link('RequestId') };
const limits = {
  'RateLimit-Limit': link('RateLimitLimit'),
  'RateLimit-Remaining': link('RateLimitRemaining'),
  'RateLimit-Reset': link('RateLimitReset'),
};

/** The headers of an answer with this status. Whoever is turned away at the entrance is not counted. */
export const headersOf = (status: string, isList: boolean, limited: boolean) => ({
  ...always,
  ...(limited && status !== '503' && limits),
  ...(status === '503' && { 'Retry-After': link('RetryAfter') }),
  ...(status === '201' && { Location: link('Location') }),
  ...(isList && { Link: link('Link') }),
});

/** Description, message and details of each. A 405 belongs to no operation, so it is not here. */
const described: Partial<Record<ErrorCode, [string, string, unknown?]>> = {
  invalid: [
    'The input is not valid: `details` lists what is wrong. A body that cannot be parsed has a `code` instead.',
    'The input is not valid.',
    [{ in: 'body', path: '/emial', message: 'is not known; did you mean "email"?' }],
  ],
  unauthenticated: [
    'The caller is not known: there is no credential, or it is not valid, expired or revoked.',
    'Credentials are required: send `Authorization: Bearer <key>`.',
  ],
  forbidden: [
    'The caller is known and lacks the scope that `details` names.',
    'The scope "write" is missing.',
    { code: 'forbidden', scope: 'write' },
  ],
  not_found: ['There is no such record.', 'User not found.'],
  timeout: ['The request did not arrive in time.', 'The request did not arrive in time.'],
  conflict: [
    'The request contradicts what is stored.',
    'A user with this e-mail address already exists.',
    { code: 'email_taken', path: '/email' },
  ],
  too_large: ['The body is too large.', 'The body is too large.'],
  unsupported_media_type: [
    'The body is not JSON.',
    'The media type of the body is not supported. Send application/json.',
  ],
  rate_limited: ['Too many requests.', 'Too many requests.', { code: 'rate_limited', retryAfter: 30 }],
  headers_too_large: ['The headers are too large.', 'The headers are too large.'],
  internal: ['An error of the service. The log has it under the request id.', 'Internal error.'],
  unavailable: [
    'The service cannot do its work just now.',
    'The service cannot reach its database. Try again shortly.',
  ],
};

export const nameOf = (code: string) =>
  code.replace(/(?:^|_)(\w)/g, (_, letter: string) => letter.toUpperCase());

/** The error responses, named once for the whole document. */
export const errorResponses = Object.fromEntries(
  Object.entries(described).map(([code, [description, message, details]]) => [
    nameOf(code),
    {
      description,
      headers: {
        ...always,
        ...(code === 'rate_limited' && limits),
        ...(['unauthenticated', 'forbidden'].includes(code) && {
          'WWW-Authenticate': link('WWWAuthenticate'),
        }),
        ...(['rate_limited', 'unavailable'].includes(code) && { 'Retry-After': link('RetryAfter') }),
      },
      content: {
        'application/json': {
          schema: { $ref: '#/components/schemas/Error' },
          example: { error: { message, status: statusOf[code as ErrorCode], details: details ?? { code } } },
        },
      },
    },
  ]),
);

/** The errors that a route can give, by the parts it has. */
export function errorsOf(route: {
  hasBody: boolean;
  typed: boolean;
  limited: boolean;
  guarded: boolean;
  own: ErrorCode[];
}): ErrorCode[] {
  return [
    'invalid',
    ...(route.guarded ? (['unauthenticated', 'forbidden'] as const) : []),
    ...route.own,
    ...(route.hasBody ? (['timeout', 'too_large'] as const) : []),
    ...(route.typed ? (['unsupported_media_type'] as const) : []),
    ...(route.limited ? (['rate_limited'] as const) : []),
    'headers_too_large',
    'internal',
    'unavailable',
  ];
}
