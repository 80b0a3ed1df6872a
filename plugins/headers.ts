import type { FastifyReply, FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';

/** On every answer. The two pages replace the policy by their own; data needs no permission at all. */
export const constant = {
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
  // For browsers that do not know frame-ancestors.
  'x-frame-options': 'DENY',
};
/** Whoever came by TLS shall not come without it for a year. */
const overTls = { 'strict-transport-security': 'max-age=31536000' };

export function protect(request: FastifyRequest, reply: FastifyReply): FastifyReply {
  reply.headers(constant).header('x-request-id', request.id);
  return request.protocol === 'https' ? reply.headers(overTls) : reply;
}

export default fp(async app => {
  app.addHook('onRequest', (request, reply, done) => {
    protect(request, reply);
    done();
  });
  app.addHook('onResponse', (request, reply, done) => {
    // One line for each request. The query is left out: filters hold names and addresses.
    request.log.info(
      {
        method: request.method,
        path: request.url.split('?')[0],
        status: reply.statusCode,
        ms: Math.round(reply.elapsedTime * 10) / 10,
        address: request.ip,
      },
      'answered',
    );
    done();
  });
});
