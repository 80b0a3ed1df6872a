import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import { isWebSocket } from '#plugins/http/streams.ts';
import type { Settings } from '#schemas/settings.ts';
import { handlerTimeout } from '#src/config/timeouts.ts';
import { type AppError, overloaded, tookTooLong } from '#src/core/errors.ts';
import { Shares } from '#src/core/shares.ts';
import type { Metrics } from '#src/telemetry/metrics.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** `false` means that requests are answered however busy the service is, and do not count as in flight. */
    shed?: boolean;
  }
  interface FastifyInstance {
    /** How many requests are being processed. */
    readonly pressure: { inFlight: number };
  }
  interface FastifyRequest {
    /** The time, on the clock of `performance.now()`, at which a request that takes too long gets a 503. */
    deadline: number;
    /** What ends with the response; null before the handler starts, and after the response. */
    flight: Flight | null;
  }
}

/** The timer of the deadline, and the account that a request is counted for. */
interface Flight {
  timer: NodeJS.Timeout;
  account: string | undefined;
}

/** All in milliseconds. */
const sampleEvery = 250;
const resolution = 20;
const warnEvery = 10_000;

interface Options {
  settings: Settings;
  metrics: Metrics;
  /** The average delay of the event loop above which new requests are refused. */
  maxDelay?: number | undefined;
}

/**
 * Sheds load that would make every response late, and ends requests that take too long. A request is in flight once its
 * body has arrived, until its response is ready: clients that send or read slowly do not count.
 */
async function register(app: FastifyInstance, options: Options): Promise<void> {
  const { settings, metrics } = options;
  app.decorate('pressure', { inFlight: 0 });
  const { pressure } = app;
  app.decorateRequest('deadline', Number.POSITIVE_INFINITY);
  app.decorateRequest('flight', null);
  const shares = new Shares(Math.ceil(settings.MAX_IN_FLIGHT / 4));
  const timeout = handlerTimeout(settings);
  const help = 'Requests that are being processed.';
  metrics.watch('http_requests_in_flight', help, () => pressure.inFlight);
  const refusal = openShedding(app, options);

  // Fastify's own `handlerTimeout` stops its clock once a body has been read (fastify/fastify#6725).
  function begin(request: FastifyRequest, reply: FastifyReply, account?: string): void {
    request.deadline = performance.now() + timeout;
    const timer = setTimeout(() => {
      if (!reply.sent) reply.send(tookTooLong());
    }, timeout);
    request.flight = { timer, account };
    if (account !== undefined) pressure.inFlight++;
    // `onSend` does not run when the client leaves before the response.
    reply.raw.on('close', () => end(request));
  }
  function end(request: FastifyRequest): void {
    if (request.flight === null) return;
    const { timer, account } = request.flight;
    request.flight = null;
    clearTimeout(timer);
    if (account === undefined) return;
    shares.give(account);
    pressure.inFlight--;
  }

  app.addHook('onRequest', (request, _reply, done) => done(isCounted(request) ? refusal() : undefined));
  app.addHook('preHandler', (request, reply, done) => {
    // Checks again, because many may have been admitted while their bodies were arriving.
    const error = isCounted(request) ? refusal() : undefined;
    // A WebSocket gets no response: it would be in flight until it is closed, and exceed its deadline.
    if (error || isWebSocket(request.raw)) return done(error);
    const account = isCounted(request) ? request.caller.account.name : undefined;
    if (account !== undefined && !shares.take(account)) return done(overloaded());
    begin(request, reply, account);
    done();
  });
  app.addHook('onSend', (request, _reply, _payload, done) => {
    end(request);
    done();
  });
}

export default fp(register, { name: 'pressure', dependencies: ['routing', 'headers', 'logging', 'cors'] });

const isCounted = ({ config }: FastifyRequest) => config.shed !== false;

function openShedding(app: FastifyInstance, { settings, metrics, maxDelay = 500 }: Options) {
  const { pressure } = app;
  const isDelayed = watchDelay(app, maxDelay);
  let lastWarning = Number.NEGATIVE_INFINITY;
  return (): AppError | undefined => {
    if (pressure.inFlight < settings.MAX_IN_FLIGHT && !isDelayed()) return undefined;
    metrics.shed.inc();
    if (performance.now() - lastWarning > warnEvery) {
      lastWarning = performance.now();
      app.log.warn({ ...pressure }, 'The service is overloaded: requests are refused.');
    }
    return overloaded();
  };
}

/** Whether the event loop was late in two samples in a row: a single long task is no overload. */
function watchDelay(app: FastifyInstance, maximum: number): () => boolean {
  const delays = monitorEventLoopDelay({ resolution });
  delays.enable();
  let wasLate = false;
  let isDelayed = false;
  const timer = setInterval(() => {
    const isLate = delays.mean / 1e6 - resolution > maximum;
    isDelayed = isLate && wasLate;
    wasLate = isLate;
    delays.reset();
  }, sampleEvery).unref();
  app.addHook('onClose', async () => {
    clearInterval(timer);
    delays.disable();
  });
  return () => isDelayed;
}
