import { Socket } from 'node:net';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import { overloaded } from '#src/core/errors.ts';
import { keptIn } from '#src/core/kept.ts';
import { Shares } from '#src/core/shares.ts';

declare module 'fastify' {
  interface FastifyReply {
    /** Returns how many bytes of a stream wait for its connection. */
    waiting: (() => number) | null;
  }
}

/** The most unanswered requests of one connection. Clients that send ahead send a few. */
const mostUnanswered = 20;
/** The most bytes of request bodies that are held at once: for one account, and in the process. */
const [ownBytes, allBytes] = [8_000_000, 64_000_000];
/** Bytes up to which a body is counted before it arrives: it takes no more memory than its connection. */
const small = 16_384;
/** The fewest bytes that a chunk of a body counts as: a client may send a body byte by byte. */
const ofChunk = 256;
/** The most bytes that may wait for the clients of one account, and how often they are added up, in milliseconds. */
const mostUnsentOfAccount = 16_000_000;
const sumEvery = 250;

interface Connection {
  replies: Set<FastifyReply>;
  /** The first request of the connection, which opened its WebSocket, if any. */
  request: FastifyRequest;
}

/** Closes connections that send too far ahead, and of an account with too many unread bytes those with the most. */
async function register(app: FastifyInstance): Promise<void> {
  const connections = new Map<Socket, Connection>();

  app.addHook('onRequest', (request, reply, done) => {
    const { socket } = request.raw;
    // An injected request has no socket.
    if (!(socket instanceof Socket)) return done();
    const { replies } = keptIn(connections, socket, () => {
      socket.once('close', () => connections.delete(socket));
      return { replies: new Set(), request };
    });
    if (replies.size >= mostUnanswered) {
      reply.hijack();
      return cut(socket);
    }
    replies.add(reply);
    done();
  });
  app.addHook('onResponse', (request, reply, done) => {
    connections.get(request.raw.socket)?.replies.delete(reply);
    done();
  });

  const bodies = new Shares(ownBytes, allBytes);
  app.addHook('preParsing', (request, reply, payload, done) => {
    const { 'content-length': length, 'transfer-encoding': encoding } = request.headers;
    const announced = Number(length ?? 0);
    if (announced === 0 && encoding === undefined) return done(null, payload);
    const { name } = request.caller.account;
    // A small body counts before it arrives: watching it would cost more.
    let held = announced <= small ? announced : 0;
    if (!bodies.take(name, held)) return done(overloaded(), payload);
    reply.raw.once('close', () => bodies.give(name, held));
    if (held > 0) return done(null, payload);
    const count = (chunk: Buffer) => {
      // What arrives after the answer is discarded, so it does not count.
      if (reply.sent) return;
      const length = Math.max(chunk.length, ofChunk);
      if (bodies.take(name, length)) held += length;
      // The error makes Fastify stop reading and answer. Of a refused request only the empty listener below hears it.
      else payload.off('data', count).emit('error', overloaded());
    };
    payload.on('data', count).on('error', () => {});
    done(null, payload);
  });

  app.decorateReply('waiting', null);
  const timer = setInterval(() => {
    const all = [...connections].map(([socket, { request, replies }]) => {
      const unsent = [...replies].map(({ raw, waiting }) => raw.writableLength + (waiting?.() ?? 0));
      // The connection of a proxy has requests of several callers: it counts for the caller of the oldest open one.
      const [{ request: oldest } = { request }] = replies;
      const name = oldest.caller?.account.name ?? oldest.ip;
      return { socket, name, bytes: Math.max(socket.writableLength, sumOf(unsent)) };
    });
    for (const own of Map.groupBy(all, ({ name }) => name).values()) {
      own.sort((a, b) => a.bytes - b.bytes);
      while (sumOf(own.map(({ bytes }) => bytes)) > mostUnsentOfAccount) own.pop()?.socket.destroy();
    }
  }, sumEvery).unref();
  app.addHook('onClose', async () => clearInterval(timer));
}

export default fp(register, { name: 'connections' });

/** Closes a connection. Node makes an error for each request that it has read, and the stacks took most of the time. */
function cut(socket: Socket): void {
  const { stackTraceLimit } = Error;
  socket.prependOnceListener('close', () => {
    Error.stackTraceLimit = 0;
  });
  socket.once('close', () => {
    Error.stackTraceLimit = stackTraceLimit;
  });
  socket.destroy();
}

const sumOf = (numbers: number[]) => numbers.reduce((sum, each) => sum + each, 0);
