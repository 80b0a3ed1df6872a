import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';

/** Every response has these. Without Cache-Control, caches may keep a 404 long after the record was created. */
const defaultHeaders = { 'cache-control': 'no-cache', 'x-content-type-options': 'nosniff' };
/** A browser that used TLS must not connect without it for a year. */
const tlsHeaders = { 'strict-transport-security': 'max-age=31536000' };

async function register(app: FastifyInstance): Promise<void> {
  app.addHook('onRequest', (request, reply, done) => {
    setHeaders(request, reply);
    done();
  });
  app.addHook('onRoute', route => {
    if (route.method === 'HEAD') route.onSend = [route.onSend ?? [], withoutLength].flat();
  });
}

export default fp(register, { name: 'headers' });

/** Fastify gives the response to a HEAD the length 0, but the length in a 304 must be that of the 200, or absent. */
async function withoutLength(_: FastifyRequest, reply: FastifyReply) {
  if (reply.statusCode === 304) reply.removeHeader('content-length');
}

export function setHeaders(request: FastifyRequest, reply: FastifyReply): void {
  reply.headers(defaultHeaders).header('x-request-id', request.id);
  if (request.protocol === 'https') reply.headers(tlsHeaders);
}

/** Says that the response depends on a header of the request. */
export const vary = (
  reply: FastifyReply,
  name: 'accept' | 'accept-encoding' | 'authorization',
): FastifyReply => reply.header('vary', [reply.getHeader('vary') ?? [], name].flat().join(', '));
