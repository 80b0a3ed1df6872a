import fp from 'fastify-plugin';
import type { Settings } from '../schemas/settings.ts';
import { AppError } from '../src/core/errors.ts';

/**
 * An answer that is not there in time becomes a 503. Fastify's own `handlerTimeout` stops its clock as soon as
 * a body has been read, so that writes would wait without an end (fastify/fastify#6725).
 */
export default fp<{ settings: Settings }>(async (app, { settings }) => {
  app.addHook('preHandler', (_request, reply, done) => {
    const timer = setTimeout(() => {
      if (!reply.sent)
        reply.send(new AppError('unavailable', 'The service took too long. Try again shortly.'));
    }, settings.HANDLER_TIMEOUT * 1000);
    const stop = () => clearTimeout(timer);
    reply.raw.once('finish', stop).once('close', stop);
    done();
  });
});
