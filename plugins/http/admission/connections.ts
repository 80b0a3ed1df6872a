import { Socket } from 'node:net';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import { overloaded } from '#src/core/errors.ts';
import { keptIn } from '#src/core/kept.ts';
import { Shares } from '#src/core/shares.ts';

declare module 'fastify' {
  interface FastifyReply {
    /** How many bytes of a stream wait for its connection. */
    waiting: (() => number) | null;
  }
}

/** Requests of one connection that are not answered yet. Clients that send ahead send a few. */
const mostUnanswered = 20;
/** Bytes of bodies that are under way: of an account, and in a process. */
const [ownBytes, allBytes] = [8_000_000, 64_000_000];
/** Bytes of a body that takes no more than its connection. */
const small = 16_384;
/** Bytes that a chunk of a body takes at least: a client may send a body byte by byte. */
const ofChunk = 256;
/** Bytes that wait for the clients of one account, and how often they are added up, in milliseconds. */
const mostUnsent = 16_000_000;
const lookEvery = 250;

interface Connection {
  replies: Set<FastifyReply>;
  /** The first one: that of a WebSocket. */
  request: FastifyRequest;
}

/** Closes a connection that sends requests far ahead, and the one with the most bytes that its client does not read. */
async function register(app: FastifyInstance): Promise<void> {
  const connections = new Map<Socket, Connection>();

  app.addHook('onRequest', (request, reply, done) => {
    const { socket } = request.raw;
    // An injected request has none.
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
    // A small one counts before it is there: to watch it costs more.
    let held = announced <= small ? announced : 0;
    if (!bodies.take(name, held)) return done(overloaded(), payload);
    reply.raw.once('close', () => bodies.give(name, held));
    if (held > 0) return done(null, payload);
    const count = (chunk: Buffer) => {
      // What comes after an answer is discarded.
      if (reply.sent) return;
      const length = Math.max(chunk.length, ofChunk);
      if (bodies.take(name, length)) held += length;
      // Fastify stops reading the body, and answers. Nobody may be listening, when the request was refused before.
      else payload.off('data', count).emit('error', overloaded());
    };
    payload.on('data', count).on('error', () => {});
    done(null, payload);
  });

  app.decorateReply('waiting', null);
  const timer = setInterval(() => {
    const all = [...connections].map(([socket, { request, replies }]) => {
      const unsent = [...replies].map(({ raw, waiting }) => raw.writableLength + (waiting?.() ?? 0));
      // A proxy sends requests of others, one after the other.
      const [{ request: oldest } = { request }] = replies;
      const name = oldest.caller?.account.name ?? oldest.ip;
      return { socket, name, bytes: Math.max(socket.writableLength, sumOf(unsent)) };
    });
    for (const own of Map.groupBy(all, ({ name }) => name).values()) {
      own.sort((a, b) => a.bytes - b.bytes);
      while (sumOf(own.map(({ bytes }) => bytes)) > mostUnsent) own.pop()?.socket.destroy();
    }
  }, lookEvery).unref();
  app.addHook('onClose', async () => clearInterval(timer));
}

export default fp(register, { name: 'connections' });

/** Node goes on with what it has read, and makes an error for each request of it: their stacks took most of its time. */
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
