import type { FastifyInstance } from 'fastify';
import fp from 'fastify-plugin';
import { withoutPorts } from '../../src/access/addresses.ts';

/** Makes the header of a trusted proxy readable, before anything reads the address of the client. */
export default fp<{ trusted: boolean }>(async (app, { trusted }) => {
  if (!trusted) return warnOnce(app);
  app.addHook('onRequest', ({ raw: { headers } }, _reply, done) => {
    const forwarded = headers['x-forwarded-for'];
    if (typeof forwarded === 'string') headers['x-forwarded-for'] = withoutPorts(forwarded);
    done();
  });
});

/** Behind a proxy that is not trusted all callers have one address, and one limit. That is said once. */
function warnOnce(app: FastifyInstance): void {
  let told = false;
  app.addHook('onRequest', (request, _reply, done) => {
    if (
      !told &&
      (request.headers['x-forwarded-for'] !== undefined || request.headers.forwarded !== undefined)
    ) {
      told = true;
      request.log.warn(
        'A proxy header came in and TRUST_PROXY is not set: it is ignored, and all callers behind the proxy share one limit.',
      );
    }
    done();
  });
}
