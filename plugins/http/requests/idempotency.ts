import { createHash } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import { requestTarget } from '#plugins/http/routes.ts';
import { need } from '#src/access/need.ts';
import { invalid } from '#src/core/errors.ts';
import type { KeyedRequest } from '#src/records/idempotency.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether an `Idempotency-Key` has an effect here; elsewhere the header is ignored. */
    idempotencyKey?: true;
  }
}

const sentKey = ({ headers }: FastifyRequest) => headers['idempotency-key'] as string | undefined;

const wrongKey = (message: string) => invalid([{ in: 'header', path: '/idempotency-key', message }]);

const usable = /^[\x21-\x7e]{1,255}$/;

/** The `Idempotency-Key` (draft-ietf-httpapi-idempotency-key-header) of a request that must take effect once. */
export function readKey(request: FastifyRequest): KeyedRequest | undefined {
  const key = sentKey(request);
  if (key === undefined) return undefined;
  // The gate cannot ask for this scope: only now is it known that a GraphQL request writes.
  need(request.caller, 'write or own');
  if (!usable.test(key)) throw wrongKey('must be 1 to 255 visible ASCII characters');
  const { method, rawBody } = request;
  const { pathname, search } = requestTarget(request);
  const hash = createHash('sha256')
    .update(`${method} ${pathname}${search}\n`)
    .update(rawBody ?? '');
  return { key, fingerprint: hash.digest('base64url') };
}

export function refuseKey(request: FastifyRequest): void {
  if (sentKey(request) !== undefined)
    throw wrongKey('is not accepted here: the response is a secret, which is never stored');
}
