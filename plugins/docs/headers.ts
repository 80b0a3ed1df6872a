import type { Features } from './parameters.ts';

const text = { type: 'string' };
const count = { type: 'integer' };
/** Every response that lists a header has it, unless it is optional. */
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
    'Bearer realm="triport", error="insufficient_scope", scope="write"',
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
    example: '</api/posts?page=2&limit=20>; rel="next"',
  },
};

export const header = (name: keyof typeof headers) => ({ $ref: `#/components/headers/${name}` });
export const always = { 'X-Request-Id': header('RequestId') };
export const limitHeaders = {
  'RateLimit-Limit': header('RateLimitLimit'),
  'RateLimit-Remaining': header('RateLimitRemaining'),
  'RateLimit-Reset': header('RateLimitReset'),
};

export const responseHeadersOf = (
  status: string,
  isList: boolean,
  isLimited: boolean,
  features: Features,
) => ({
  ...always,
  // A request that is shed with a 503 was not counted.
  ...(isLimited && status !== '503' && limitHeaders),
  // Of GraphQL: a request with the same key is still running.
  ...((status === '503' || status === '409') && { 'Retry-After': header('RetryAfter') }),
  ...(Number(status) < 400 && successHeaders(status, features)),
  ...(isList && { Link: header('Link') }),
});

const successHeaders = (status: string, { cached, tagged, minimal, repeatable }: Features) => ({
  ...((status === '201' || (minimal && status === '204')) && { Location: header('Location') }),
  ...((cached || tagged) && { ETag: header('ETag') }),
  ...(minimal && { 'Preference-Applied': header('PreferenceApplied') }),
  ...(repeatable && { 'Idempotency-Replayed': header('IdempotencyReplayed') }),
});
