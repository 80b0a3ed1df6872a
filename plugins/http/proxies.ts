import type { FastifyInstance } from 'fastify';
import fp from 'fastify-plugin';
import { withoutPorts } from '#src/access/limits/addresses.ts';

/** Removes ports from the header of a trusted proxy, before anything reads the address of the client. */
async function register(app: FastifyInstance, { trusted }: { trusted: boolean }): Promise<void> {
  if (!trusted) return warnOnce(app);
  app.addHook('onRequest', ({ raw: { headers } }, _reply, done) => {
    const forwarded = headers['x-forwarded-for'];
    if (typeof forwarded === 'string') headers['x-forwarded-for'] = withoutPorts(forwarded);
    done();
  });
}

export default fp(register, { name: 'proxies', dependencies: ['connections'] });

/** Warns once of a proxy that is not trusted: all callers behind it have one address, and share one rate limit. */
function warnOnce(app: FastifyInstance): void {
  let warned = false;
  app.addHook('onRequest', ({ headers, log }, _reply, done) => {
    if (!warned && (headers['x-forwarded-for'] !== undefined || headers.forwarded !== undefined)) {
      warned = true;
      log.warn(
        'A request has a proxy header, but TRUST_PROXY is not set: the header is ignored, and all callers behind the proxy share one rate limit.',
      );
    }
    done();
  });
}
