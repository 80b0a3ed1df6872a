import type { FastifyReply, FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';

/** On every response. Pages replace the policy with their own; data needs no permissions at all. */
const securityHeaders = {
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
  // For browsers that do not support frame-ancestors.
  'x-frame-options': 'DENY',
};
/** For a year, a browser that used TLS must not connect without it. */
const tlsHeaders = { 'strict-transport-security': 'max-age=31536000' };

export default fp(async app => {
  app.addHook('onRequest', (request, reply, done) => {
    setHeaders(request, reply);
    done();
  });
});

export function setHeaders(request: FastifyRequest, reply: FastifyReply): void {
  reply.headers(securityHeaders).header('x-request-id', request.id);
  if (request.protocol === 'https') reply.headers(tlsHeaders);
}

/** The `Vary` of a response that depends on `Accept`; CORS may have added `Origin`. */
export const varying = (reply: FastifyReply) => [reply.getHeader('vary') ?? [], 'accept'].flat().join(', ');

export const wantsPage = (accept = '') => /\btext\/html\b/i.test(accept);

/** The policy of a page that sets inline styles and embeds fonts. No script is inline. */
export const toolPolicy =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self' data:; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

export const sendHtml = (reply: FastifyReply, page: string, policy: string): FastifyReply =>
  reply
    .type('text/html; charset=utf-8')
    .headers({ vary: varying(reply), 'content-security-policy': policy })
    .serializer(String)
    .send(page);
