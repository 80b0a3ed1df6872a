import cors from '@fastify/cors';
import type { FastifyInstance } from 'fastify';
import fp from 'fastify-plugin';

/** Lets pages of other origins call the service. Credentials are sent in a header, so cookies are never allowed. */
async function register(app: FastifyInstance, { origins }: { origins: string[] }): Promise<void> {
  if (origins.length === 0) return;
  await app.register(cors, {
    origin: origins.includes('*') ? '*' : origins,
    credentials: false,
    methods: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'],
    allowedHeaders: [
      ...['Authorization', 'Content-Type', 'X-Request-Id'],
      ...['If-Match', 'If-None-Match', 'Idempotency-Key', 'Prefer', 'Last-Event-ID'],
    ],
    exposedHeaders: [
      ...['ETag', 'Idempotency-Replayed', 'Preference-Applied'],
      ...['Link', 'Location', 'X-Request-Id', 'Retry-After', 'WWW-Authenticate', 'Deprecation', 'Sunset'],
      ...['RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset'],
    ],
    maxAge: 600,
    // Our own routes answer OPTIONS with Allow. An OPTIONS that is not a preflight is no error.
    preflightContinue: true,
    strictPreflight: false,
  });
}

export default fp(register, { name: 'cors', dependencies: ['headers', 'logging'] });
