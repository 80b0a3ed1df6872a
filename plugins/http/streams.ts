import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import type { Settings } from '#schemas/settings.ts';
import { need } from '#src/access/need.ts';
import type { Follower } from '#src/changes/follow.ts';
import { AppError, invalidToken } from '#src/core/errors.ts';
import { explain } from '#src/database/databaseErrors.ts';
import type { Metrics } from '#src/telemetry/metrics.ts';
import { workOnCostly } from './context.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Opens a stream for the caller, or refuses when they have too many. It must be closed. */
    openStream(kind?: 'events' | 'socket'): Stream;
  }
}

const webSockets = new WeakSet<IncomingMessage>();
/** Whether Node handed over the connection of this request, for a WebSocket. */
export const isWebSocket = (request: IncomingMessage) => webSockets.has(request);

/** Tells Node whether to hand over a connection when a request asks for an upgrade: only GraphQL has WebSockets. */
export function acceptUpgrade(request: IncomingMessage): boolean {
  const { method, headers, url = '' } = request;
  const isOne = method === 'GET' && headers.upgrade?.toLowerCase() === 'websocket';
  if (!isOne || !/^\/api\/graphql(\?|$)/.test(url)) return false;
  webSockets.add(request);
  return true;
}

/** What goes on after a request was accepted. It is aborted when the caller's right or the service ends. */
export type Stream = Follower & { close: () => void };

/** Milliseconds. */
const checkRightEvery = 3000;
const stalledFor = 2000;
const silentFor = 60_000;
/** How long a page or a result may wait for other ones that the same account reads. */
export const longestWait = 60_000;
/** Bytes that may wait for one client. */
export const mostUnsent = 1_000_000;

interface Options {
  settings: Settings;
  metrics: Metrics;
}

/** Counts the streams of each caller, and ends them when the caller's right or the service ends. */
async function register(app: FastifyInstance, { settings, metrics }: Options): Promise<void> {
  const maximum = Math.ceil(settings.MAX_IN_FLIGHT / 10);
  const open = new Map<string, Set<AbortController>>();
  let isEnding = false;
  const all = () => [...open.values()].flatMap(each => [...each]);
  metrics.watch('streams_open', 'Open streams of changes, and WebSockets.', () => all().length);
  app.decorateRequest('openStream', function (kind = 'events') {
    const name = `${kind} ${this.caller.account.name}`;
    const own = open.get(name) ?? new Set();
    if (own.size >= maximum) throw tooMany(maximum);
    const ending = new AbortController();
    open.set(name, own.add(ending));
    if (isEnding) ending.abort(clientShouldReturn);
    let isUnsure = false;
    const check = async () => {
      isUnsure = await checkRight(this, isUnsure);
    };
    const timer = setInterval(() => check().catch(error => ending.abort(error)), checkRightEvery);
    const close = () => {
      ending.abort();
      clearInterval(timer);
      // A second call must delete nothing: the name may have another set by then.
      if (own.delete(ending) && own.size === 0) open.delete(name);
    };
    return {
      caller: () => this.caller,
      onCostly: work => workOnCostly(this, work, performance.now() + longestWait),
      signal: ending.signal,
      isBehind: false,
      close,
    };
  });
  // Closes the connection of a WebSocket whose request a hook has refused: nobody else does.
  app.addHook('onResponse', (request, reply, done) => {
    if (isWebSocket(request.raw) && reply.statusCode >= 300) request.raw.socket.destroySoon();
    done();
  });
  app.addHook('preClose', async () => {
    isEnding = true;
    for (const ending of all()) ending.abort(clientShouldReturn);
  });
}

export default fp(register, { name: 'streams', dependencies: ['contexts'] });

/** Why a stream is aborted when its client should come back. */
export const clientShouldReturn = new Error('The client should come back.');

const tooMany = (maximum: number) => {
  const details = { code: 'rate_limited', retryAfter: 5 };
  return new AppError('rate_limited', `A caller can have ${maximum} streams at once.`, details);
};

/**
 * Identifies the caller again, and fails when they may not read any more. Returns whether an unexpected error left that
 * open: twice in a row ends the stream.
 */
async function checkRight(request: FastifyRequest, wasUnsure: boolean): Promise<boolean> {
  await request.identify('again');
  const { refusal, actor } = request.caller;
  const code = refusal ? explain(refusal).code : undefined;
  if (code === 'unauthenticated') throw refusal;
  // While the database or the issuer is away, the last answer counts, however often.
  const isUnsure = code !== undefined && code !== 'unavailable';
  if (isUnsure && wasUnsure) throw clientShouldReturn;
  need(request.caller, 'read or own');
  // A request may use the token for 30 s more, because clocks differ; a stream may not.
  if (Date.now() > (actor.expiresAt ?? Number.POSITIVE_INFINITY))
    throw invalidToken('The token has expired.');
  return isUnsure;
}

/** Sends events (WHATWG, server-sent events) as they come, until there are no more or the client leaves. */
export async function sendEvents(
  reply: FastifyReply,
  stream: Stream,
  events: AsyncGenerator<string | (() => string)>,
): Promise<FastifyReply> {
  const { raw, request } = reply;
  let watch: NodeJS.Timeout | undefined;
  const end = () => {
    stream.close();
    clearInterval(watch);
    events.return(undefined).catch(() => {});
  };
  raw.once('close', end);
  // Reads the first event before the response begins, so that a refusal has its own status.
  const first = await events.next().catch(error => {
    end();
    throw error;
  });
  // The client left meanwhile, or the request took too long and was answered.
  if (raw.destroyed || reply.sent) {
    end();
    return reply;
  }
  const writtenText = ({ value = '' }: typeof first) => (typeof value === 'string' ? value : value());
  async function next() {
    // A client that catches up gets its next past event when the earlier ones have been sent.
    const { signal } = stream;
    if (stream.isBehind && raw.writableNeedDrain) await once(raw, 'drain', { signal }).catch(() => {});
    const event = await events.next();
    body.push(event.done ? null : writtenText(event));
  }
  const read = () => void next().catch(error => body.destroy(error));
  const body = new Readable({ highWaterMark: mostUnsent, read });
  reply.waiting = () => body.readableLength;
  body.push(writtenText(first));
  let before = 0;
  watch = setInterval(() => {
    const unsent = body.readableLength;
    // A client that catches up may be slow, because no new events wait for it.
    if (!stream.isBehind && unsent >= mostUnsent && unsent === before) raw.destroy();
    before = unsent;
  }, stalledFor);
  // An injected request has no socket.
  raw.socket?.setTimeout?.(silentFor);
  request.record(200);
  return reply.type('text/event-stream').headers({ 'x-accel-buffering': 'no' }).send(body);
}

/** Gives a value away once: a waiting generator keeps what it has yielded, and a result may have megabytes. */
export function takeOnce<T>(value: T): () => T {
  const held = [value];
  return () => held.pop() as T;
}

/** Tells a client when to come back: after a random time, in milliseconds, so that not all come at once. */
export const retryIn = (least: number, most = least) =>
  `retry: ${Math.round(least + Math.random() * (most - least))}\n`;
