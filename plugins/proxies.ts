import fp from 'fastify-plugin';

/** Behind a proxy that is not trusted all callers have one address, and one limit. That is said once. */
export default fp<{ trusted: boolean }>(async (app, { trusted }) => {
  if (trusted) return;
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
});
