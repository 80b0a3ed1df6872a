import type { FastifyReply, FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';

/** On every answer. The two pages replace the policy by their own; data needs no permission at all. */
const constant = {
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

export default fp(async app => {
  app.addHook('onRequest', (request, reply, done) => {
    setHeaders(request, reply);
    done();
  });
  app.addHook('onResponse', (request, reply, done) => {
    logAnswer(request, reply);
    done();
  });
});

export function setHeaders(request: FastifyRequest, reply: FastifyReply): void {
  reply.headers(constant).header('x-request-id', request.id);
  if (request.protocol === 'https') reply.headers(overTls);
}

/** For an answer that depends on `Accept`, and perhaps already on `Origin`. */
export const varying = (reply: FastifyReply) => [reply.getHeader('vary') ?? [], 'accept'].flat().join(', ');

/** One line for each request, without what people wrote: filters hold names, and a mistaken path an address. */
export function logAnswer(request: FastifyRequest, reply: FastifyReply): void {
  request.log.info(
    {
      method: request.method,
      path: withoutAddresses(request.url.split(/[?#]/, 1)[0] ?? ''),
      status: reply.statusCode,
      ms: Math.round(reply.elapsedTime * 10) / 10,
      address: request.ip,
    },
    'answered',
  );
}

const isAddress = (text: string) => /@|%40/i.test(text);

/** Part by part: one pattern for the whole path would take half a second for the longest. */
function withoutAddresses(path: string): string {
  if (!isAddress(path)) return path.slice(0, 300);
  const parts = path.split('/').map(part => (isAddress(part) ? '[address]' : part));
  return parts.join('/').slice(0, 300);
}
