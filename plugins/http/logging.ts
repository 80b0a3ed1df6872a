import type { Socket } from 'node:net';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import type { Metrics } from '#src/telemetry/metrics.ts';

/** A client that invents methods must not add metric series. */
const knownMethods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Successes are logged only at `debug`: probes ask every second, and a page has many files. */
    quiet?: boolean;
  }
  interface FastifyRequest {
    /** Whether the request was logged and measured. */
    logged: boolean;
    /** Logs and measures the request now: for a stream, the time until it began. */
    record(status: number): void;
    /** The status of a request whose connection ends without a response of Fastify. */
    statusOnClose: number;
  }
}

/** The status that logs and metrics give a request whose client left before the response, as nginx does. */
const clientLeft = 499;

interface Exchange {
  request: FastifyRequest;
  reply: FastifyReply;
  /** The reply to the previous request of the connection, if it was not sent when this request arrived. */
  earlier: FastifyReply | undefined;
}

/** The last request of each connection: Node reports broken HTTP by its connection, and not by its request. */
const lastExchanges = new WeakMap<Socket, Exchange>();

export const lastExchangeOf = (socket: Socket) => lastExchanges.get(socket);

/** Logs and measures every request. */
async function register(app: FastifyInstance, { metrics }: { metrics: Metrics }): Promise<void> {
  app.decorateRequest('logged', false);
  app.decorateRequest('statusOnClose', clientLeft);
  function record(request: FastifyRequest, reply: FastifyReply, status: number): void {
    if (request.logged) return;
    request.logged = true;
    logResponse(request, reply, status);
    const method = knownMethods.has(request.method) ? request.method : 'other';
    // The label is the pattern of the route: a path would be a new series for each record.
    const labels = { method, route: request.config.url ?? 'none', status };
    metrics.countRequest(labels, reply.elapsedTime / 1000);
  }

  app.decorateRequest('record', function (status) {
    const last = lastExchanges.get(this.raw.socket);
    if (last?.request === this) record(this, last.reply, status);
  });

  app.addHook('onRequest', (request, reply, done) => {
    const { socket } = request.raw;
    const before = lastExchanges.get(socket)?.reply;
    lastExchanges.set(socket, { request, reply, earlier: before?.raw.writableFinished ? undefined : before });
    // `onResponse` does not run when Fastify sends no response.
    reply.raw.on('close', () => record(request, reply, request.statusOnClose));
    done();
  });
  app.addHook('onResponse', (request, reply, done) => {
    record(request, reply, reply.statusCode);
    done();
  });
}

export default fp(register, { name: 'logging', dependencies: ['routing', 'connections', 'proxies'] });

/**
 * Logs one line for a request, without personal data: a query may contain names, and a mistyped path an e-mail address.
 */
export function logResponse(
  request: FastifyRequest,
  reply: FastifyReply,
  status: number = reply.statusCode,
): void {
  const isQuiet = request.config?.quiet && status < 400;
  request.log[isQuiet ? 'debug' : 'info'](
    {
      method: request.method,
      path: withoutAddresses(request.url.split(/[?#]/, 1)[0] ?? ''),
      status,
      ms: Math.round(reply.elapsedTime * 10) / 10,
      address: request.ip,
    },
    status === clientLeft ? 'client left' : 'answered',
  );
}

/** The @ may be percent-encoded, and by mistake more than once. */
const isAddress = (text: string) => /@|%(25)*40/.test(text);

/** Checks segment by segment: one pattern for the whole path would take half a second for the longest path. */
function withoutAddresses(path: string): string {
  if (!isAddress(path)) return path.slice(0, 300);
  const segments = path.split('/').map(segment => (isAddress(segment) ? '[address]' : segment));
  return segments.join('/').slice(0, 300);
}
