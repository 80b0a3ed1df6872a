import type { WebSocket } from '@fastify/websocket';
import type { FastifyRequest } from 'fastify';
import type { ExecutionArgs, FormattedExecutionResult } from 'graphql';
import { makeServer, type WebSocket as ServerSocket } from 'graphql-ws';
import { publicErrors } from '#plugins/graphql/errors.ts';
import { charge } from '#plugins/http/admission/limits.ts';
import { clientShouldReturn, mostUnsent, type Stream, takeOnce } from '#plugins/http/streams.ts';
import { need } from '#src/access/need.ts';
import { AppError } from '#src/core/errors.ts';
import { explain } from '#src/database/databaseErrors.ts';
import type { Endpoint } from './endpoint.ts';
import { type Outcome, refusalsIn, shownTo } from './http.ts';

/** Both in milliseconds. */
const pingEvery = 15_000;
const leaveWithin = 1000;
/** How many pings may be unanswered: they may be behind megabytes that a slow client has not read. */
const mostPings = 4;

/** Messages at once (a client that comes back sends `connection_init` and 100 subscriptions); messages per second. */
const [mostMessages, messagesEachSecond] = [111, 20];
const mostRefusals = 2;

/** Close codes. */
const [restart, later, invalid, forbidden, tooMany] = [1012, 1013, 4400, 4403, 4429];

interface ClientSocket {
  socket: WebSocket;
  request: FastifyRequest;
  /** How often the rate limit refused something. */
  refusals: number;
  messages: Allowance;
}
/** How much a client may still send, and from when that grows: from `connection_init`, or at once for pongs. */
interface Allowance {
  left: number;
  since?: number;
}
const allowance = (): Allowance => ({ left: mostMessages, since: performance.now() });
type Results = AsyncGenerator<(() => { data?: unknown }) | undefined>;
type Prepared = ExecutionArgs & { results: AsyncGenerator<object> };

/** The protocol `graphql-transport-ws` for subscriptions, with the limits of requests. */
export function openSockets({ schema, admit, subscriptionResults }: Endpoint) {
  const resultsIn = (args: ExecutionArgs) => (args as Prepared).results;
  const server = makeServer<Record<string, unknown>, ClientSocket>({
    onConnect: ({ connectionParams, extra }) => admitConnection(extra, connectionParams?.authorization),
    onSubscribe: async ({ extra }, _id, payload) => {
      const { request } = extra;
      let stream: Stream | undefined;
      try {
        await charge(request, 1);
        stream = openStream(extra, 'events');
        const admitted = await admit(request, payload as never);
        const { document, definition } = admitted.operation;
        const toSent = (outcome: Outcome) => shownTo(request, outcome);
        const results = closeWith(stream, subscriptionResults(request, admitted, stream, toSent));
        return { schema, document, operationName: definition.name?.value, results } as Prepared;
      } catch (error) {
        stream?.close();
        return [...refusalsIn(error)];
      }
    },
    execute: resultsIn,
    subscribe: resultsIn,
    // The result stays as it is: `shownTo` has made it what the client may see.
    onNext: (_context, _id, _payload, _args, result) => result as FormattedExecutionResult,
    onError: ({ extra }, _id, _payload, thrown) => {
      // A client that has left gets no errors, and nothing is logged.
      if (extra.socket.readyState !== extra.socket.OPEN) return [];
      const errors = thrown.flatMap(error => (error.originalError ? refusalsIn(error.originalError) : error));
      const codes = errors.map(({ originalError }) => explain(originalError).code);
      if (codes.includes('rate_limited')) extra.refusals++;
      // Makes the client come back, as it does after a 503.
      if (codes.includes('unavailable') || extra.refusals >= mostRefusals)
        end(extra.socket, later, 'Try again later');
      return publicErrors(errors, extra.request);
    },
  });

  return (socket: WebSocket, request: FastifyRequest): void => {
    request.record(101);
    // Each subscription adds a listener; Node would warn about more than 10.
    socket.setMaxListeners(0);
    const connection = { socket, request, refusals: 0, messages: { left: 1 } };
    // The package `ws` limits pings, as it answers them, but not pongs.
    const pongs = allowance();
    socket.on('pong', () => spendAllowance(pongs) || end(socket, tooMany, 'Too many pongs'));
    const closed = server.opened(serverSocket(connection), connection);
    const stopPings = sendPings(socket);
    socket.once('close', (code, reason) => {
      stopPings();
      void closed(code, String(reason));
    });
  };
}

/** A socket as graphql-ws needs it. */
function serverSocket(connection: ClientSocket): ServerSocket {
  const { socket, request } = connection;
  return {
    protocol: socket.protocol,
    close: (code, reason) => end(socket, code, reason),
    // Settles when the message has left, so that no result is made for a client that does not read.
    send: text =>
      new Promise((resolve, reject) => socket.send(text, error => (error ? reject(error) : resolve()))),
    onMessage: receive =>
      socket.on('message', data => {
        // Ignores messages that came together with the one that ended the socket.
        if (socket.readyState !== socket.OPEN) return;
        // The client sends messages, but does not read the answers.
        if (socket.bufferedAmount > mostUnsent) return socket.terminate();
        receive(String(data)).catch(error => {
          request.log.debug({ err: error }, 'A message of a WebSocket failed.');
          end(socket, invalid);
        });
        if (!spendAllowance(connection.messages)) end(socket, tooMany, 'Too many messages');
      }),
  };
}

/** Counts a message or a pong; says whether the client may send so many. */
function spendAllowance(allowed: Allowance): boolean {
  const { left, since = Number.POSITIVE_INFINITY } = allowed;
  const more = Math.max(0, performance.now() - since) * (messagesEachSecond / 1000);
  allowed.left = Math.min(mostMessages, left + more) - 1;
  if (more > 0) allowed.since = performance.now();
  return allowed.left >= 0;
}

/** Closes a socket and reads no further. Messages that were read before may call this a thousand times. */
function end(socket: WebSocket, code?: number, reason?: string): void {
  if (socket.readyState !== socket.OPEN) return;
  socket.close(code, reason);
  socket.pause();
  setTimeout(() => socket.terminate(), leaveWithin).unref();
}

/** Sends pings, and ends a socket whose client does not answer; returns what stops them. */
function sendPings(socket: WebSocket): () => void {
  let unanswered = 0;
  socket.on('pong', () => {
    unanswered = 0;
  });
  const timer = setInterval(() => {
    if (++unanswered > mostPings) return socket.terminate();
    socket.ping();
  }, pingEvery);
  return () => clearInterval(timer);
}

async function admitConnection(connection: ClientSocket, authorization: unknown): Promise<boolean> {
  const { request, socket } = connection;
  connection.messages = allowance();
  if (typeof authorization === 'string') request.headers = { ...request.headers, authorization };
  await request.identify();
  try {
    const { caller } = request;
    if (caller.refusal) throw caller.refusal;
    need(caller, 'read or own');
    openStream(connection, 'socket');
    return true;
  } catch (error) {
    const isFinal = error instanceof AppError && ['unauthenticated', 'forbidden'].includes(error.code);
    if (!isFinal) end(socket, later, 'Try again later');
    return false;
  }
}

/** Opens a stream that ends with the socket, and that ends the socket when the caller's right or the service ends. */
function openStream({ socket, request }: ClientSocket, kind: 'events' | 'socket'): Stream {
  const stream = request.openStream(kind);
  const { signal } = stream;
  const close = () => {
    socket.off('close', close);
    stream.close();
  };
  socket.once('close', close);
  if (socket.readyState !== socket.OPEN) close();
  const endWithRight = () => {
    const { reason } = signal;
    if (reason !== clientShouldReturn && !(reason instanceof AppError)) return;
    end(socket, reason === clientShouldReturn ? restart : forbidden);
  };
  if (signal.aborted) endWithRight();
  else signal.addEventListener('abort', endWithRight);
  return { ...stream, close };
}

/** A result that gives its data away when it is serialized: graphql-ws holds it while it waits for the next one. */
function once({ data, ...rest }: { data?: unknown }): object {
  return { ...rest, ...(data !== undefined && { data: { toJSON: takeOnce(data) } }) };
}

/** The results without the empty ones. The stream ends with them, or as soon as the client wants no more. */
function closeWith(stream: Stream, all: Results): AsyncGenerator<object> {
  async function* known() {
    try {
      for await (const take of all) if (take) yield once(take());
    } finally {
      stream.close();
    }
  }
  const results = known();
  const end = results.return.bind(results);
  return Object.assign(results, {
    return: (value: void | PromiseLike<void>) => {
      stream.close();
      return end(value);
    },
  });
}
