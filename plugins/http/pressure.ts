import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { FastifyReply, FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import type { Settings } from '../../schemas/settings.ts';
import { handlerTimeout } from '../../src/config/timeouts.ts';
import { type AppError, overloaded, tookTooLong } from '../../src/core/errors.ts';
import type { Metrics } from '../../src/telemetry/metrics.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** `false` where the answer must come however much there is to do; it takes no place of others. */
    shed?: boolean;
  }
  interface FastifyInstance {
    readonly pressure: Pressure;
  }
  interface FastifyRequest {
    /** What ends the work when it takes too long; null before there is any and when it is done. */
    atWork: NodeJS.Timeout | null;
  }
}

export interface Pressure {
  /** Requests that are worked on now. */
  inFlight: number;
}

/** All in milliseconds. */
const lookEvery = 250;
const resolution = 20;
const tellEvery = 10_000;

/**
 * Refuses at once what would only make every answer late, and ends what takes too long. A request is at work from when it
 * has arrived until its answer is ready: a client that is slow to send or to read holds no place of others.
 */
export default fp<{ settings: Settings; metrics: Metrics }>(async (app, { settings, metrics }) => {
  const pressure: Pressure = { inFlight: 0 };
  const isLate = watchDelay(settings.MAX_EVENT_LOOP_DELAY, stop =>
    app.addHook('onClose', async () => stop()),
  );
  app.decorate('pressure', pressure);
  app.decorateRequest('atWork', null);

  let told = Number.NEGATIVE_INFINITY;
  function refusal(): AppError | undefined {
    if (pressure.inFlight < settings.MAX_IN_FLIGHT && !isLate()) return undefined;
    metrics.shed.inc();
    if (performance.now() - told > tellEvery) {
      told = performance.now();
      app.log.warn({ ...pressure }, 'There is too much to do: requests are refused.');
    }
    return overloaded();
  }
  const counts = ({ routeOptions: { config } }: FastifyRequest) => config.shed !== false;
  /**
   * Fastify's own `handlerTimeout` stops its clock as soon as a body has been read, so that writes would wait without an
   * end (fastify/fastify#6725).
   */
  function begin(request: FastifyRequest, reply: FastifyReply): void {
    if (counts(request)) pressure.inFlight++;
    request.atWork = setTimeout(() => {
      if (!reply.sent) reply.send(tookTooLong());
    }, handlerTimeout(settings));
    // Without an answer, when the client has gone.
    reply.raw.once('close', () => end(request));
  }
  function end(request: FastifyRequest): void {
    if (request.atWork === null) return;
    clearTimeout(request.atWork);
    request.atWork = null;
    if (counts(request)) pressure.inFlight--;
  }

  app.addHook('onRequest', (request, _reply, done) => done(counts(request) ? refusal() : undefined));
  app.addHook('preHandler', (request, reply, done) => {
    // Again, because many may have been admitted while their bodies were on the way.
    const error = counts(request) ? refusal() : undefined;
    if (!error) begin(request, reply);
    done(error);
  });
  app.addHook('onSend', (request, _reply, _payload, done) => {
    end(request);
    done();
  });
});

/** Whether the event loop was late on average, and the time before too: one long task alone is no overload. */
function watchDelay(most: number, onClose: (stop: () => void) => void): () => boolean {
  if (most === 0) return () => false;
  const delays = monitorEventLoopDelay({ resolution });
  delays.enable();
  let before = false;
  let late = false;
  const timer = setInterval(() => {
    const now = delays.mean / 1e6 - resolution > most;
    late = now && before;
    before = now;
    delays.reset();
  }, lookEvery).unref();
  onClose(() => {
    clearInterval(timer);
    delays.disable();
  });
  return () => late;
}
