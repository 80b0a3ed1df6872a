import { createHash } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import { need } from '../../../src/access/need.ts';
import { invalid } from '../../../src/core/errors.ts';
import type { KeyedRequest } from '../../../src/services/idempotency.ts';
import { targetOf } from '../routes.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** What an `Idempotency-Key` does here. Without it, the header is ignored. */
    idempotencyKey?: 'accepted' | 'refused';
  }
  interface FastifyRequest {
    /** The key of a request that must take effect once. */
    readonly keyed: KeyedRequest | undefined;
  }
}

/** Reads the `Idempotency-Key` (draft-ietf-httpapi-idempotency-key-header) of requests that write. */
export default fp(async app => {
  app.decorateRequest('keyed', {
    getter(this: FastifyRequest) {
      return readKey(this);
    },
  });
  app.addHook('preValidation', (request, _reply, done) => {
    const isRefused = request.config.idempotencyKey === 'refused';
    if (isRefused && keyOf(request) !== undefined)
      throw wrongKey('is not accepted here: the response is a secret, which is never stored');
    done();
  });
});

const keyOf = ({ headers }: FastifyRequest) => headers['idempotency-key'] as string | undefined;

const wrongKey = (message: string) => invalid([{ in: 'header', path: '/idempotency-key', message }]);

const usable = /^[\x21-\x7e]{1,255}$/;

function readKey(request: FastifyRequest): KeyedRequest | undefined {
  const key = keyOf(request);
  if (key === undefined) return undefined;
  // A GraphQL request is known to write only now.
  need(request, 'write or own');
  if (!usable.test(key)) throw wrongKey('must be 1 to 255 visible ASCII characters');
  const { method, rawBody } = request;
  const { pathname, search } = targetOf(request);
  const hash = createHash('sha256')
    .update(`${method} ${pathname}${search}\n`)
    .update(rawBody ?? '');
  return { key, fingerprint: hash.digest('base64url') };
}
