import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import type { Settings } from '../schemas/settings.ts';
import { type AppError, overloaded } from '../src/core/errors.ts';
import type { Metrics } from '../src/core/metrics.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** `false` where the answer must come however much there is to do; it takes no place of others. */
    shed?: boolean;
  }
  interface FastifyInstance {
    readonly pressure: Pressure;
  }
  interface FastifyRequest {
    atWork: boolean;
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
 * Refuses at once what would only make every answer late. A request counts from when it has arrived until its
 * answer is ready: a client that is slow to send or to read holds no place of others.
 */
export default fp<{ settings: Settings; metrics: Metrics }>(async (app, { settings, metrics }) => {
  const pressure: Pressure = { inFlight: 0 };
  const isLate = watchDelay(settings.MAX_EVENT_LOOP_DELAY, stop =>
    app.addHook('onClose', async () => stop()),
  );
  app.decorate('pressure', pressure);
  app.decorateRequest('atWork', false);

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
  function leave(request: FastifyRequest): void {
    if (request.atWork) pressure.inFlight--;
    request.atWork = false;
  }

  app.addHook('onRequest', (request, _reply, done) =>
    done(request.routeOptions.config.shed === false ? undefined : refusal()),
  );
  app.addHook('preHandler', (request, reply, done) => {
    if (request.routeOptions.config.shed === false) return done();
    // Again, because many may have been admitted while their bodies were on the way.
    const error = refusal();
    if (error) return done(error);
    pressure.inFlight++;
    request.atWork = true;
    reply.raw.once('close', () => leave(request));
    done();
  });
  app.addHook('onSend', (request, _reply, _payload, done) => {
    leave(request);
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
